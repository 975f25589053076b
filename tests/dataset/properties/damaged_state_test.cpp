// Damage to the files of a set about itself: each verb that reads one ends with an error or the right result.

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "dataset/convert/convert.hpp"
#include "dataset/extract/extract.hpp"
#include "dataset/index/index.hpp"
#include "dataset/ls/ls.hpp"
#include "dataset/merge/merge.hpp"
#include "dataset/reshard/reshard.hpp"
#include "dataset/stage/stage.hpp"
#include "dataset/stat/stat.hpp"
#include "dataset/verify/verify.hpp"
#include "support/fake_image.hpp"
#include "support/files.hpp"
#include "support/image_tree.hpp"
#include "support/soak.hpp"
#include "support/temp_dir.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
namespace fs = std::filesystem;

namespace {

/// A verb: works in the folder and returns everything that its user gets of it.
using Verb = std::function<std::string(const std::string& folder)>;

/// A folder with "src" and sets made of it, and the verbs that read them.
struct Scene {
  std::function<void(const std::string& folder)> make;
  std::string set;  ///< the folder whose state is damaged
  std::map<std::string, Verb> verbs;
  bool is_repaired = false;  ///< whatever the damage
};

ConvertOptions converting(const std::string& folder) {
  ConvertOptions options;
  options.source = folder + "/src";
  options.target = folder + "/set";
  options.sharding.samples = 6;
  options.sharding.on_bad = OnBad::skip;
  options.identity = FileIdentity::size;
  options.index = {"wids", "dali"};
  options.threads = 1;
  return options;
}

/// Shards, manifest and indexes of other readers, of `folder`.
std::string product(const std::string& folder) {
  std::string text;
  for (const auto& [name, content] : tree_content(folder)) {
    if (name.find(".shardkit") == std::string::npos) text += fmt::format("{}={};", name, content);
  }
  return text;
}

/// Only the shards.
std::string shards(const std::string& folder) {
  std::string text;
  for (const auto& [name, content] : tree_content(folder)) {
    if (name.ends_with(".tar")) text += fmt::format("{}={};", name, content);
  }
  return text;
}

std::string converted(const std::string& folder, bool append, const std::string& part = {}) {
  Context context;
  ConvertOptions options = converting(folder);
  options.append = append;
  options.part = part;
  convert(options, context);
  return part.empty() ? product(folder + "/set") : std::string();
}

std::string merged(const std::string& folder) {
  Context context;
  MergeOptions options;
  options.target = folder + "/set";
  merge(options, context);
  return product(folder + "/set");
}

std::string extracted(const std::string& folder) {
  Context context;
  extract({.shards = {folder + "/set"}, .target = folder + "/back", .threads = 1}, context);
  return product(folder + "/back");
}

std::string resharded(const std::string& folder) {
  Context context;
  ReshardOptions options;
  options.inputs = {folder + "/set"};
  options.target = folder + "/other";
  options.threads = 1;
  reshard(options, context);
  return shards(folder + "/other");  // with a damaged index, the tar is read instead, and original paths are lost
}

std::string staged(const std::string& folder) {
  Context context;
  StageOptions options;
  options.sources = {folder + "/set"};
  options.target = folder + "/copy";
  const StageResult result = stage(options, context);
  if (result.failed > 0) throw Error(ErrorCode::corrupt, "files failed");
  return product(folder + "/copy");
}

std::string described(const std::string& folder) {
  Context context;
  const StatResult stat_result = stat({.shards = {folder + "/set"}, .threads = 1}, context);
  std::string text = fmt::format("{} {} {};", stat_result.samples, stat_result.members, stat_result.bytes);
  ls({.shards = {folder + "/set"}}, context, [&](const LsRow& row) {
    text += fmt::format("{} {} {} {} {};", row.shard, row.key, row.name, row.offset, row.size);
  });
  return text;
}

/// A finding is an answer, too.
std::string verified(const std::string& folder) {
  Context context;
  const VerifyResult result = verify({.shards = {folder + "/set"}, .against = folder + "/src"}, context);
  if (result.errors > 0) throw Error(ErrorCode::corrupt, "findings");
  return fmt::format("{} {}", result.shards, result.samples);
}

void make_source(const std::string& folder, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t i = first; i < end; ++i) {
    for (const char* item : {"ant", "bee"})
      write_file(fmt::format("{}/src/{}/{}.jpg", folder, item, i), fake_jpeg(std::string(50 + i, item[0])));
  }
}

void grow(const std::string& folder) { make_source(folder, 10, 14); }

/// A set with a file that was left out.
void make_set(const std::string& folder) {
  make_source(folder, 0, 10);
  write_file(folder + "/src/ant/7.jpg", "<html>");
  converted(folder, false);
}

std::string outcome(const Verb& verb, const std::string& folder) {
  try {
    return verb(folder);
  } catch (const Error& error) {
    CHECK_MESSAGE(error.code() != ErrorCode::internal, error.what());
    CHECK(std::string(error.what()) != "");
    return "refused";
  }
}

/// The state in a set, relative to its folder: no shards, whose bytes a convert that continues only compares with
/// --recheck, and no indexes of other readers.
std::vector<std::string> state_files(const std::string& set) {
  std::vector<std::string> names;
  for (const auto& [name, content] : tree_content(set)) {
    if (name.ends_with(".tar") || name.ends_with(".idx")) continue;
    if (name == "manifest.json" || (name.find(".shardkit/") != std::string::npos && !content.empty()))
      names.push_back(name);
  }
  return names;
}

void copy(const std::string& from, const fs::path& to) {
  fs::remove_all(to);
  fs::copy(from, to, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(from))
    fs::last_write_time(to / fs::relative(entry.path(), from), entry.last_write_time());
}

std::string damaged(std::string content, Prng& prng) {
  const std::size_t at = prng.below(content.size());
  if (prng.below(4) == 0) return content.substr(0, at);
  content[at] = static_cast<char>(content[at] ^ static_cast<char>(1 + prng.below(255)));
  return content;
}

void check_scene(const Scene& scene) {
  const std::uint64_t seed = test_seed();
  const std::uint64_t each = tries(12, 400);
  Prng prng(seed);
  const TempDir dir;
  const std::string original = dir.path("original");
  const std::string work = dir.path("work");
  scene.make(original);
  for (const auto& [verb_name, verb] : scene.verbs) {
    CAPTURE(verb_name);
    copy(original, work);
    const std::string expected = verb(work);
    std::uint64_t refused = 0;
    for (const std::string& name : state_files(original + "/" + scene.set)) {
      CAPTURE(name);
      const std::string content = read_file(original + "/" + scene.set + "/" + name);
      for (std::uint64_t i = 0; i < each; ++i) {
        CAPTURE(i);
        copy(original, work);
        const std::string path = work + "/" + scene.set + "/" + name;
        fs::remove(path);
        write_file(path, damaged(content, prng));
        const std::string got = outcome(verb, work);
        refused += got == "refused" ? 1 : 0;
        CHECK_MESSAGE((got == "refused" || got == expected), name);
      }
    }
    CHECK((refused == 0) == scene.is_repaired);
  }
}

}  // namespace

TEST_CASE("damaged state of a finished set") {
  check_scene({.make = make_set,
               .set = "set",
               .verbs = {{"convert", [](const std::string& folder) { return converted(folder, false); }},
                         {"append",
                          [](const std::string& folder) {
                            grow(folder);
                            return converted(folder, true);
                          }},
                         {"extract", extracted},
                         {"reshard", resharded},
                         {"stage", staged},
                         {"describe", described},
                         {"verify", verified}}});
}

TEST_CASE("damaged state of parts that are not joined") {
  check_scene(
      {.make =
           [](const std::string& folder) {
             make_source(folder, 0, 10);
             converted(folder, false, "0/2");
             converted(folder, false, "1/2");
           },
       .set = "set",
       .verbs = {{"merge", merged}, {"convert", [](const std::string& folder) { return converted(folder, false); }}}});
}

TEST_CASE("damaged state of an --append that has not finished") {
  check_scene({.make =
                   [](const std::string& folder) {
                     make_set(folder);
                     grow(folder);
                     converted(folder, true, "0/2");
                   },
               .set = "set",
               .verbs = {{"append", [](const std::string& folder) { return converted(folder, true); }},
                         {"append --part and merge",
                          [](const std::string& folder) {
                            converted(folder, true, "1/2");
                            return merged(folder);
                          }},
                         {"append --discard", [](const std::string& folder) {
                            Context context;
                            ConvertOptions options = converting(folder);
                            options.append = true;
                            options.discard = true;
                            convert(options, context);
                            return product(folder + "/set");
                          }}}});
}

TEST_CASE("damaged state of a reshard that has not finished") {
  check_scene({.make =
                   [](const std::string& folder) {
                     make_set(folder);
                     Context context;
                     ReshardOptions options;
                     options.inputs = {folder + "/set"};
                     options.target = folder + "/other";
                     options.sizes.samples = 4;
                     options.part = "0/2";
                     reshard(options, context);
                   },
               .set = "other",
               .verbs = {{"reshard", [](const std::string& folder) {
                            Context context;
                            ReshardOptions options;
                            options.inputs = {folder + "/set"};
                            options.target = folder + "/other";
                            options.sizes.samples = 4;
                            reshard(options, context);
                            return product(folder + "/other");
                          }}}});
}

TEST_CASE("damaged state of a staged folder") {
  check_scene({.make =
                   [](const std::string& folder) {
                     make_set(folder);
                     staged(folder);
                   },
               .set = "copy",
               .verbs = {{"stage", staged}},
               .is_repaired = true});
}
