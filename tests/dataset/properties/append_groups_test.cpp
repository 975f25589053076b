// Groups of --group-by under --append: once in a set, a group stays there.

#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/prng.hpp"
#include "dataset/convert/convert.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"
#include "support/files.hpp"
#include "support/image_tree.hpp"
#include "support/soak.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
namespace fs = std::filesystem;

namespace {

enum class Grouping { folder, pattern, column };

/// Frames of clips that arrive in rounds. With a column, and by a pattern, clips span classes.
class Clips {
 public:
  Clips(const TempDir& dir, Prng& prng) : dir_(dir), prng_(prng), grouping_(static_cast<Grouping>(prng.below(3))) {}

  /// New frames of old clips and of new ones, in old classes and in new ones; some old files go.
  void arrive() {
    std::vector<std::string> gone;
    for (const auto& [path, clip] : clip_of_) {
      if (prng_.below(8) == 0 && clip_of_.size() - gone.size() > 8) gone.push_back(path);
    }
    for (const std::string& path : gone) {
      fs::remove(dir_.path("src/" + path));
      clip_of_.erase(path);
    }
    clips_ += 1 + prng_.below(5);
    classes_ += 1 + prng_.below(3);
    const std::uint64_t frames = 4 + prng_.below(12);
    for (std::uint64_t i = 0; i < frames; ++i) add_frame();
    std::string rows = "path,clip\n";
    for (const auto& [path, clip] : clip_of_) rows += fmt::format("{},{}\n", path, clip);
    write_file(dir_.path("rows.csv"), rows);
  }

  ConvertOptions options(std::uint64_t seed) const {
    ConvertOptions options;
    options.source = dir_.path("src");
    options.target = dir_.path("set");
    options.split = {"train=0.6", "val=0.3", "test=0.1"};
    if (seed % 2 == 0) options.split = {"train=0.5", "val=0.5"};
    options.group_by = std::array{"dir", "key:/(c[0-9]+)_", "column:clip"}[static_cast<std::size_t>(grouping_)];
    options.seed = seed;
    options.sharding.samples = 5;
    options.sharding.validate = Validate::none;
    options.threads = 1;
    if (grouping_ == Grouping::column) options.sharding.metadata = dir_.path("rows.csv");
    return options;
  }

  /// Also of files that are gone.
  const std::map<std::string, std::string>& ever() const { return ever_; }

 private:
  void add_frame() {
    const std::uint64_t clip = prng_.below(clips_);
    const std::uint64_t frame = frames_++;
    std::string path;
    std::string name;
    if (grouping_ == Grouping::folder) {
      path = fmt::format("class_{}/clip_{}/{}.jpg", clip % classes_at(clip), clip, frame);
      name = fs::path(path).parent_path();
    } else {
      path = fmt::format("class_{}/c{}_{}.jpg", prng_.below(classes_), clip, frame);
      name = fmt::format("c{}", clip);
    }
    write_file(dir_.path("src/" + path), fake_jpeg(path));
    clip_of_[path] = name;
    ever_[path] = name;
  }
  /// The number of classes when the clip was new: its folder stays in its class.
  std::uint64_t classes_at(std::uint64_t clip) { return born_.try_emplace(clip, classes_).first->second; }

  const TempDir& dir_;
  Prng& prng_;
  Grouping grouping_;
  std::uint64_t clips_ = 0;
  std::uint64_t classes_ = 0;
  std::uint64_t frames_ = 0;
  std::map<std::uint64_t, std::uint64_t> born_;
  std::map<std::string, std::string> clip_of_;
  std::map<std::string, std::string> ever_;
};

/// The set of each sample, by its path.
std::map<std::string, std::string> sets_of(const std::string& target) {
  std::map<std::string, std::string> sets;
  for (const auto& set : fs::directory_iterator(target)) {
    const std::string manifest = set.path() / "manifest.json";
    for (const formats::ManifestShard& shard : formats::read_manifest(read_file(manifest), manifest).shards) {
      const std::string path = set.path() / formats::shard_index_path(shard.name);
      io::FileSource index(path);
      formats::ShardIndexVisitor visitor;
      visitor.sample = [&](formats::IndexSample&& sample) {
        CHECK_MESSAGE(sets.emplace(sample.path, set.path().filename()).second, sample.path);
      };
      formats::read_shard_index(index, path, visitor);
    }
  }
  return sets;
}

}  // namespace

TEST_CASE("a group that is in a set stays there, whatever --append adds, and no group is in two sets") {
  const std::uint64_t seed = test_seed();
  const std::uint64_t trials = tries(60, 1000);
  MESSAGE(fmt::format("{} sources from seed {}", trials, seed));
  Prng prng(seed);
  std::uint64_t grown = 0;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    CAPTURE(trial);
    const TempDir dir;
    Clips clips(dir, prng);
    clips.arrive();
    ConvertOptions options = clips.options(prng.below(1000));
    Context context;
    try {
      convert(options, context);
    } catch (const Error& error) {
      REQUIRE_MESSAGE(error.code() == ErrorCode::not_found, error.what());  // a set would be empty
      continue;
    }
    ++grown;
    options.append = true;
    options.identity = FileIdentity::size;
    std::map<std::string, std::string> set_of_clip;
    for (int round = 0; round < 3; ++round) {
      if (round > 0) {
        clips.arrive();
        convert(options, context);
      }
      const auto sets = sets_of(dir.path("set"));
      CHECK(sets.size() == clips.ever().size());
      for (const auto& [path, set] : sets) {
        const std::string& clip = clips.ever().at(path);
        CHECK_MESSAGE(set_of_clip.try_emplace(clip, set).first->second == set, clip);
      }
    }
  }
  CHECK(grown > trials / 4);
}
