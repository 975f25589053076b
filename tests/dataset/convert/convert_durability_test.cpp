#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "dataset/convert/convert.hpp"
#include "dataset/verify/verify.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"
#include "support/files.hpp"
#include "support/forgetful_file_system.hpp"
#include "support/image_tree.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;

namespace {

ConvertOptions small_convert(const TempDir& dir, const std::string& target) {
  ConvertOptions options;
  options.source = dir.path("src");
  options.target = dir.path(target);
  options.sharding.samples = 8;
  options.index = {"dali", "wids", "energon"};
  options.threads = 1;
  return options;
}

/// Puts what a power cut left of `from` into a fresh folder `to`.
void rebuild(const std::map<std::string, std::string>& left, const std::string& from, const std::string& to) {
  std::filesystem::create_directories(to);
  for (const auto& [path, content] : left) {
    if (path.starts_with(from + "/")) write_file(to + path.substr(from.size()), content);
  }
}

/// What a power cut may leave of a set in `folder`: an index for each shard, and all shards for a manifest.
void check_no_gap(const std::map<std::string, std::string>& left, const std::string& folder,
                  const std::map<std::string, std::string>& expected) {
  const bool is_finished = left.contains(folder + "/" + formats::kManifestName);
  for (const auto& [name, content] : expected) {
    if (is_finished) CHECK_MESSAGE(left.contains(folder + "/" + name), name);
    if (name.ends_with(".tar") && left.contains(folder + "/" + name))
      CHECK_MESSAGE(left.contains(folder + "/" + formats::shard_index_path(name)), name);
  }
}

/// A convert of `source` whose file system fails at one moment.
struct Attempt {
  Attempt(const std::string& source, std::uint64_t moment) {
    std::filesystem::create_directory_symlink(source, dir.path("src"));
    files.fail_at(moment, ErrorCode::io);
  }
  void run() {
    Context interrupted;
    convert_on(files, small_convert(dir, "out"), interrupted);
  }

  TempDir dir;
  ForgetfulFileSystem files;
};

}  // namespace

TEST_CASE("a power cut at any moment leaves whole shards only, and the next run ends with the same bytes") {
  const TempDir dir;
  ImageTree{dir.path("src"), 2, 8, 3000}.make();
  Context context;
  convert(small_convert(dir, "expected"), context);
  const auto expected = tree_content(dir.path("expected"));

  for (std::uint64_t moment = 1;; ++moment) {
    CAPTURE(moment);
    Attempt attempt(dir.path("src"), moment);
    try {
      attempt.run();
    } catch (const Error&) {
    }
    for (const auto& left : attempt.files.after_power_cuts()) check_no_gap(left, attempt.dir.path("out"), expected);
    const std::string after = attempt.dir.path("after");
    rebuild(attempt.files.after_power_cut(), attempt.dir.path("out"), after);
    for (const auto& [name, content] : tree_content(after)) {
      const bool is_passing = name.ends_with(".tmp") || name.ends_with(".run") || name.starts_with(".shardkit/.");
      if (!is_passing) CHECK(content == expected.at(name));
    }
    Context again;
    ConvertOptions resumed = small_convert(attempt.dir, "after");
    convert(resumed, again);
    for (const auto& [name, content] : expected) CHECK(read_file(after + "/" + name) == content);
    if (!attempt.files.failed()) {
      CHECK(moment > 20);
      break;
    }
  }
}

TEST_CASE("a power cut at any moment of a run with bad files leaves a target that --on-bad skip ends as ever") {
  const TempDir dir;
  const ImageTree tree{dir.path("src"), 2, 8, 3000};
  tree.make();
  write_file(tree.path(0, 3), "<html>");
  const auto skipping = [](const TempDir& in, const std::string& target) {
    ConvertOptions options = small_convert(in, target);
    options.sharding.on_bad = OnBad::skip;
    return options;
  };
  const auto shards_of = [](const std::string& target) {
    auto content = tree_content(target);
    content.erase(".shardkit/plan");  // says which run came first
    return content;
  };
  Context context;
  convert(skipping(dir, "expected"), context);
  const auto expected = shards_of(dir.path("expected"));

  for (std::uint64_t moment = 1;; ++moment) {
    CAPTURE(moment);
    Attempt attempt(dir.path("src"), moment);
    CHECK_THROWS_AS(attempt.run(), Error);
    const std::string after = attempt.dir.path("after");
    rebuild(attempt.files.after_power_cut(), attempt.dir.path("out"), after);
    Context again;
    convert(skipping(attempt.dir, "after"), again);
    CHECK(shards_of(after) == expected);
    if (!attempt.files.failed()) break;
  }
}

TEST_CASE(
    "a power cut at any moment after a bad file of a finished set was corrected leaves no manifest over other bytes") {
  const TempDir dir;
  const ImageTree tree{dir.path("src"), 2, 8, 3000};
  tree.make();
  const std::string good = read_file(tree.path(0, 3));
  for (std::uint64_t moment = 1;; ++moment) {
    CAPTURE(moment);
    write_file(tree.path(0, 3), "<html>");
    Attempt attempt(dir.path("src"), 0);
    ConvertOptions options = small_convert(attempt.dir, "out");
    options.sharding.on_bad = OnBad::skip;
    Context context;
    convert_on(attempt.files, options, context);
    write_file(tree.path(0, 3), good);
    attempt.files.fail_at(moment, ErrorCode::io);
    try {
      convert_on(attempt.files, options, context);
    } catch (const Error&) {
    }
    const auto cuts = attempt.files.after_power_cuts();
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      CAPTURE(i);
      const std::string after = attempt.dir.path(fmt::format("after-{}", i));
      rebuild(cuts[i], attempt.dir.path("out"), after);
      const std::string manifest = after + "/manifest.json";
      if (!std::filesystem::exists(manifest)) continue;
      CHECK(verify({.shards = {after}}, context).errors == 0);
      for (const formats::ManifestShard& shard : formats::read_manifest(read_file(manifest), manifest).shards) {
        const std::string path = after + "/" + formats::shard_index_path(shard.name);
        if (!std::filesystem::exists(path)) continue;
        io::FileSource index(path);
        CHECK(formats::read_shard_summary(index, path).xxh3_128 == shard.xxh3_128);
      }
    }
    if (!attempt.files.failed()) break;
  }
}

TEST_CASE("a disk that fills while shards are written is an error of room, and leaves no half shard") {
  const TempDir dir;
  ImageTree{dir.path("src"), 2, 8, 3000}.make();
  ForgetfulFileSystem files;
  files.fail_at(12, ErrorCode::no_space);
  Context context;
  try {
    convert_on(files, small_convert(dir, "out"), context);
    FAIL("converted on a full disk");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::no_space);
  }
  for (const auto& [name, content] : tree_content(dir.path("out"))) CHECK_FALSE(name.ends_with(".tmp"));
  CHECK_FALSE(std::filesystem::exists(dir.path("out/manifest.json")));
}
