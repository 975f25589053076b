#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/prng.hpp"
#include "core/text.hpp"
#include "dataset/convert/convert.hpp"
#include "dataset/extract/extract.hpp"
#include "dataset/plan/plan.hpp"
#include "dataset/verify/verify.hpp"
#include "support/fake_image.hpp"
#include "support/files.hpp"
#include "support/forgetful_file_system.hpp"
#include "support/soak.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
namespace fs = std::filesystem;

namespace {

struct Kind {
  const char* extension;
  std::string (*make)(std::string_view content);
};

constexpr std::array<Kind, 6> kKinds{{{".jpg", fake_jpeg},
                                      {".JPEG", fake_jpeg},
                                      {".png", fake_png},
                                      {".bmp", fake_bmp},
                                      {".Tiff", fake_tiff},
                                      {".webp", fake_webp}}};

/// A tree of random names with what belongs to it, and what of it has to come back.
class RandomTree {
 public:
  explicit RandomTree(std::uint64_t seed) : prng_(seed) {
    unlabeled_ = prng_.below(3) == 0;
    const std::uint64_t folders = 1 + prng_.below(3);
    for (std::uint64_t i = 0; i < folders; ++i) fill("src/" + name(), 0);
    if (unlabeled_ && prng_.below(2) == 0) fill("src", 3);
    if (images_.empty()) add_image("src/" + name());
    if (prng_.below(2) == 0) add_masks();
  }

  bool unlabeled() const { return unlabeled_; }
  const std::string& field() const { return field_; }

  /// Below the folder `source_is`: where extract puts the source.
  std::map<std::string, std::string> expected(const std::string& source_is) const {
    std::map<std::string, std::string> files;
    for (const auto& [path, content] : files_) {
      if (path.starts_with("masks/")) {
        files[path] = content;
      } else if (!ignored_.contains(path)) {
        files[source_is + path.substr(4)] = content;
      }
    }
    return files;
  }

  void write(const TempDir& dir) const {
    for (const auto& [path, content] : files_) write_file(dir.path(path), content);
  }

  /// Without some of its images and what has their stems.
  void write_a_part(const TempDir& dir, Prng& prng) const {
    std::vector<std::string> later;
    for (std::size_t i = 1; i < images_.size(); ++i) {
      if (prng.below(2) == 0) later.push_back(images_[i].first + ".");
    }
    for (const auto& [path, content] : files_) {
      const bool waits = std::ranges::any_of(later, [&](const auto& start) { return path.starts_with(start); });
      if (!waits && !ignored_.contains(path)) write_file(dir.path(path), content);
    }
  }

 private:
  std::string name() {
    static const std::vector<std::string> kPieces{"a",
                                                  "b",
                                                  "Z9",
                                                  " ",
                                                  ".",
                                                  "..",
                                                  "~",
                                                  "_",
                                                  "__",
                                                  "-",
                                                  "'",
                                                  "\"",
                                                  "\\",
                                                  "\n",
                                                  "\t",
                                                  "=",
                                                  ":",
                                                  "*",
                                                  "{dir}",
                                                  "%2F",
                                                  "\xc3\xa9",
                                                  "\xff",
                                                  "\xe2\x82\xac",
                                                  "x.jpg",
                                                  ".tar",
                                                  "cls",
                                                  "json",
                                                  "0",
                                                  "10",
                                                  ",",
                                                  "$HOME",
                                                  "[x]",
                                                  "?",
                                                  "#"};
    std::string text;
    const std::uint64_t pieces = prng_.below(30) == 0 ? 60 : 1 + prng_.below(4);
    for (std::uint64_t i = 0; i < pieces; ++i) text += kPieces[prng_.below(kPieces.size())];
    text.resize(std::min<std::size_t>(text.size(), 200));
    // Hidden folders are left out, and these are no names of files.
    return text.starts_with('.') || text.starts_with("__MACOSX") ? "d" + text : text;
  }

  /// False where something of this name is there already.
  bool add(const std::string& path, const std::string& content) {
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      if (files_.contains(path.substr(0, slash))) return false;
    }
    const auto next = files_.lower_bound(path + "/");
    if (next != files_.end() && next->first.starts_with(path + "/")) return false;
    return files_.emplace(path, content).second;
  }

  void add_image(const std::string& folder) {
    const Kind& kind = kKinds[prng_.below(kKinds.size())];
    const std::string stem = folder + "/" + name();
    if (!add(stem + kind.extension, kind.make(std::to_string(prng_.next())))) return;
    images_.emplace_back(stem, kind.extension);
    if (prng_.below(3) == 0) add(stem + (prng_.below(2) == 0 ? ".json" : ".txt"), "{}");
  }

  void fill(const std::string& folder, int depth) {
    const std::uint64_t images = 1 + prng_.below(4);
    for (std::uint64_t i = 0; i < images; ++i) add_image(folder);
    const std::string other = folder + "/" + name() + ".gif";
    if (prng_.below(4) == 0 && add(other, "GIF")) ignored_.insert(other);
    if (depth < 2 && prng_.below(2) == 0) fill(folder + "/" + name(), depth + 1);
  }

  /// A mask for some of the images, in a tree of its own.
  void add_masks() {
    std::set<std::string> stems;
    for (const auto& [stem, extension] : images_) {
      if (prng_.below(3) == 0 && !stems.empty()) continue;
      if (add("masks/" + stem.substr(4) + "_m.png", fake_png("mask"))) stems.insert(stem);
    }
    if (!stems.empty()) field_ = "mask.png?=../masks/{dir}/{stem}_m.png";
  }

  Prng prng_;
  bool unlabeled_ = false;
  std::string field_;
  std::map<std::string, std::string> files_;  ///< content by path
  std::vector<std::pair<std::string, std::string>> images_;
  std::set<std::string> ignored_;
};

std::string problems_of(const VerifyResult& result) {
  std::string text;
  for (const Problem& problem : result.problems) text += problem.code + " " + problem.key + " " + problem.text + "; ";
  return text;
}

void check_round_trip(const RandomTree& tree) {
  const TempDir dir;
  tree.write(dir);
  Context context;
  PlanOptions planning;
  planning.source = dir.path("src");
  planning.output = dir.path("plan");
  planning.sharding.unlabeled = tree.unlabeled();
  planning.sharding.samples = 3;
  if (!tree.field().empty()) planning.sharding.fields = {tree.field()};
  const PlanResult planned = plan(planning, context);

  ConvertOptions converting;
  converting.source = planning.source;
  converting.target = dir.path("out");
  converting.plan = planning.output;
  converting.threads = 1;
  CHECK(convert(converting, context).samples == planned.samples);

  const VerifyResult verified =
      verify({.shards = {dir.path("out")}, .against = planning.source, .threads = 1}, context);
  CHECK_MESSAGE(verified.errors == 0, problems_of(verified));  // samples of several kinds are a warning

  extract({{dir.path("out")}, dir.path("back"), 1}, context);
  // A field outside of the source comes back beside it.
  const std::string source_is = tree.field().empty() ? "" : "src/";
  CHECK(tree_content(dir.path("back")) == tree.expected(source_is));
}

/// An --append that ends like that of a killed process at a random moment, or during which another process does the
/// same, and one after it.
void append_twice(const ConvertOptions& options, Prng& prng) {
  ForgetfulFileSystem files;
  const std::uint64_t moment = 1 + prng.below(150);
  if (prng.below(2) == 0) {
    files.fail_at(moment, ErrorCode::io);
  } else {
    files.act_at(moment, [&] {
      Context other;
      convert(options, other);
    });
  }
  Context context;
  try {
    convert_on(files, options, context);
  } catch (const Error&) {
    if (!files.failed()) throw;
  }
  convert(options, context);
}

/// False where the first part cannot be a set of its own, or a new file has a name that collides with an old one.
bool check_append(const RandomTree& tree, Prng& prng) {
  const TempDir dir;
  tree.write_a_part(dir, prng);
  Context context;
  ConvertOptions converting;
  converting.source = dir.path("src");
  converting.target = dir.path("out");
  converting.sharding.unlabeled = tree.unlabeled();
  converting.sharding.samples = 3;
  if (!tree.field().empty()) converting.sharding.fields = {tree.field()};
  converting.threads = 1;
  std::map<std::string, std::string> before;
  try {
    convert(converting, context);
    before = tree_content(converting.target);
    tree.write(dir);
    converting.append = true;
    converting.identity = FileIdentity::size;  // all files have been written again
    append_twice(converting, prng);
  } catch (const Error& error) {
    CHECK_MESSAGE((error.code() == ErrorCode::conflict || before.empty()), std::string(error.what()));
    if (!before.empty()) CHECK(tree_content(converting.target) == before);
    return false;
  }
  for (const auto& [name, content] : before) {
    if (name.ends_with(".tar")) CHECK(read_file(converting.target + "/" + name) == content);
  }
  const VerifyResult verified =
      verify({.shards = {converting.target}, .against = converting.source, .threads = 1}, context);
  CHECK_MESSAGE(verified.errors == 0, problems_of(verified));
  extract({{converting.target}, dir.path("back"), 1}, context);
  CHECK(tree_content(dir.path("back")) == tree.expected(tree.field().empty() ? "" : "src/"));
  return true;
}

}  // namespace

TEST_CASE("random trees that grow are appended to by two, one perhaps killed, and end as sets of all their files") {
  const std::uint64_t seed = test_seed();
  const std::uint64_t trees = tries(100, 20'000);
  MESSAGE(fmt::format("{} trees from seed {}", trees, seed));
  std::uint64_t appended = 0;
  for (std::uint64_t i = 0; i < trees; ++i) {
    INFO(fmt::format("tree {}: SHARDKIT_SEED={}", i, seed));
    Prng prng(seed ^ i);
    try {
      appended += check_append(RandomTree(split_mix(seed) + i), prng) ? 1 : 0;
    } catch (const Error& error) {
      FAIL_CHECK(error.what());
    }
  }
  CHECK(appended > trees / 2);
}

TEST_CASE("random trees are planned, converted, verified and extracted without a difference") {
  const std::uint64_t seed = test_seed();
  const std::uint64_t trees = tries(150, 40'000);
  MESSAGE(fmt::format("{} trees from seed {}", trees, seed));
  for (std::uint64_t i = 0; i < trees; ++i) {
    INFO(fmt::format("tree {}: SHARDKIT_SEED={}", i, seed));
    try {
      check_round_trip(RandomTree(split_mix(seed) + i));
    } catch (const Error& error) {
      FAIL_CHECK(error.what());
    }
  }
}
