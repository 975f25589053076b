// Which files belong to a set: what manifests list, and everything else below the source.

#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

#include "dataset/stage/stage_support.hpp"
#include "formats/stage_records.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::io;
using namespace shardkit::staging;
using namespace shardkit_test;

namespace {

/// A source with the shards of one manifest, and a folder for the copy.
struct Source {
  Shards shards;
  FakeSource source = shards.fake();
  std::vector<std::string> warnings;

  /// The same set in a folder below the source instead of at its top.
  void move_below(const std::string& folder) {
    std::map<std::string, std::string> moved;
    for (const auto& [name, bytes] : shards.content) moved.emplace(folder + "/" + name, bytes);
    for (const auto& [name, bytes] : shards.content) source.content.erase(name);
    source.content.merge(moved);
  }
  StageResult stage(const StageOptions& options, StageRequest wanted) {
    Context context;
    StageResult result = stage_whole(*posix_file_system(), source, wanted, options, context, steps());
    warnings.clear();
    for (const Finding& warning : context.warnings()) warnings.push_back(warning.code);
    return result;
  }
  StageResult stage(const StageRequest& wanted = {.manifest_name = "manifest.json"}) {
    return stage(options(), wanted);
  }
  StageOptions options() const { return into(shards.dir.path("out")); }
  std::map<std::string, std::string> copy() const {
    std::map<std::string, std::string> content = tree_content(shards.dir.path("out"));
    std::erase_if(content, [](const auto& item) {
      return StageTarget::is_own_state(item.first) || item.first.ends_with("/stage.lock");
    });
    return content;
  }
  std::vector<std::string> tars() const {
    std::vector<std::string> names;
    for (const auto& [name, content] : copy()) {
      if (name.ends_with(".tar")) names.push_back(name);
    }
    return names;
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("files beside a manifest, and below it, are staged too, and updated") {
  Source one;
  one.source.content["classes.txt"] = "cat";
  one.source.content["val/x.tar"] = "y";
  const StageResult result = one.stage();
  CHECK(one.warnings == Names{"set_foreign"});
  CHECK(one.copy() == one.source.content);
  CHECK(result.files == one.source.content.size());
  CHECK(result.files_by_size == 2);
  CHECK(result.verified == staging::Verified::size);  // of one shard nothing else is known

  one.source.content["classes.txt"] = "dog";
  one.stage();
  CHECK(one.copy() == one.source.content);
  one.source.bytes_read = 0;
  CHECK(one.stage().bytes_fetched == 0);
  CHECK(one.source.bytes_read == one.source.content.at("manifest.json").size());
}

TEST_CASE("tars that the manifest does not list are not staged with its set, nor are their indexes") {
  Source one;
  const auto set = one.source.content;
  for (const char* name : {"later.tar", "later.idx", ".shardkit/later.tar.index"}) one.source.content[name] = "later";
  one.stage();
  CHECK(one.warnings == Names{"extra_shards"});
  CHECK(one.copy() == set);
}

TEST_CASE("a set that lacks a shard or has a cut one is refused before anything is made, but not where all is staged") {
  for (const bool is_cut : {true, false}) {
    for (const char* manifest : {"manifest.json", ""}) {
      CAPTURE(is_cut);
      CAPTURE(manifest);
      Source one;
      const StageRequest wanted{.manifest_name = manifest};
      const std::string shard = "shard-000001.tar";
      is_cut ? one.source.content[shard].resize(1000) : void(one.source.content.erase(shard));
      const auto failure = failure_of([&] { one.stage(wanted); });
      CHECK(failure == ErrorCode::not_found);
      CHECK(failure.says("'" + shard + "'"));
      CHECK_FALSE(std::filesystem::exists(one.shards.dir.path("out")));
      one.source.content = one.shards.content;
      one.stage(wanted);
      one.source.content.erase(shard);
      CHECK(one.stage(wanted).bytes_fetched == 0);
    }
  }
}

TEST_CASE("without manifest and a shard, the indexes do not pass for the set") {
  Source one;
  one.source.content[".shardkit/plan"] = one.shards.plan;
  one.source.content.erase("manifest.json");
  CHECK(failure_of([&] { one.stage(StageRequest{}); }).says("is not written"));  // all shards are there
  one.source.content.erase("shard-000001.tar");
  CHECK(failure_of([&] { one.stage(StageRequest{}); }).says("has not finished"));
  CHECK_FALSE(std::filesystem::exists(one.shards.dir.path("out")));
}

TEST_CASE("of a stage that brought a part of the set only named shards are staged") {
  Source one;
  StageOptions options = one.options();
  options.rank = "1";
  options.world = 3;
  one.stage(options, {.manifest_name = "manifest.json"});
  one.source.content = tree_content(options.target);
  options = into(one.shards.dir.path("second"));
  CHECK(
      failure_of([&] { one.stage(options, {.manifest_name = "manifest.json"}); }).says("has the part ranks 1-1 of 3"));
  CHECK_FALSE(std::filesystem::exists(options.target));
  one.stage(options, {.names = Names{"shard-000001.tar"}, .manifest_name = "manifest.json"});
  CHECK(std::filesystem::exists(options.target + "/shard-000001.tar"));
}

TEST_CASE("a file that index --extra listed is compared with its checksum") {
  Source one;
  formats::Manifest manifest = formats::read_manifest(one.source.content.at("manifest.json"), "test");
  manifest.files.push_back({"classes.txt", 3, xxh3_128(as_bytes("cat"))});
  one.source.content["manifest.json"] = formats::write_manifest(manifest);
  one.source.content["classes.txt"] = "cat";
  CHECK(one.stage().files_by_size == 0);
  CHECK(one.copy() == one.source.content);
  std::filesystem::remove_all(one.shards.dir.path("out"));
  one.source.content["classes.txt"] = "dog";
  CHECK(failure_of([&] { one.stage(); }) == ErrorCode::corrupt);
}

TEST_CASE("a root of sets is staged by the manifest of each") {
  Source one;
  one.source.content["README"] = "two sets";
  one.move_below("train");
  one.source.content.merge(std::map(one.source.content));
  for (const auto& [name, bytes] : one.shards.content) one.source.content["val/" + name] = bytes;
  const StageResult result = one.stage({});
  CHECK(one.copy() == one.source.content);
  CHECK(result.verified == staging::Verified::checksum);
  CHECK(result.files_by_size == 1);
  one.source.bytes_read = 0;
  CHECK(one.stage(StageRequest{}).bytes_fetched == 0);
  CHECK(one.source.bytes_read == 2 * one.shards.content.at("manifest.json").size());

  SUBCASE("a shard whose bytes are wrong is found") {
    std::filesystem::remove_all(one.shards.dir.path("out"));
    one.source.content["val/shard-000001.tar"][700] ^= 1;
    CHECK(failure_of([&] { one.stage(StageRequest{}); }) == ErrorCode::corrupt);
  }
  SUBCASE("--rank divides each set") {
    std::filesystem::remove_all(one.shards.dir.path("out"));
    StageOptions options = one.options();
    options.rank = "1";
    options.world = 2;
    one.stage(options, {});
    CHECK(one.tars() == Names{"train/shard-000001.tar", "val/shard-000001.tar"});
    CHECK(one.copy().contains("README"));
    CHECK_FALSE(one.copy().contains("val/.shardkit/shard-000000.tar.index"));
  }
}

TEST_CASE("a manifest at the top of one of several sources counts for its shards") {
  Source one;  // several sources name no manifest of their own
  one.source.content["plain.tar"] = "of the other source";
  CHECK(one.stage(StageRequest{}).files_by_size == 1);
  CHECK(one.copy() == one.source.content);
  std::filesystem::remove_all(one.shards.dir.path("out"));
  one.source.content["shard-000001.tar"][700] ^= 1;
  CHECK(failure_of([&] { one.stage(StageRequest{}); }) == ErrorCode::corrupt);
}

TEST_CASE("--include and --exclude choose by names below the source") {
  Source one;
  one.source.content["classes.txt"] = "cat";
  SUBCASE("shards and files") {
    const StageResult result = one.stage({.manifest_name = "manifest.json", .include = {"*-000001.tar", "*.txt"}});
    CHECK(one.tars() == Names{"shard-000001.tar"});
    CHECK(one.copy().contains("classes.txt"));
    CHECK(one.copy().contains(".shardkit/shard-000001.tar.index"));
    CHECK(result.left_out == 2);
    CHECK(formats::read_staged_marker(read_file(one.shards.dir.path("out/.shardkit/staged.json")), "").subsets.size() ==
          1);
  }
  SUBCASE("without") {
    one.stage({.manifest_name = "manifest.json", .exclude = {"*-000001.tar", "*.txt"}});
    CHECK(one.tars() == Names{"shard-000000.tar", "shard-000002.tar"});
    CHECK_FALSE(one.copy().contains("classes.txt"));
  }
  SUBCASE("only shards and their indexes") {
    one.stage({.manifest_name = "manifest.json", .include = {"*.tar"}});
    CHECK(one.copy() == one.shards.content);
  }
  SUBCASE("nothing is left") {
    CHECK(failure_of([&] { one.stage({.manifest_name = "manifest.json", .include = {"none"}}); }) ==
          ErrorCode::not_found);
  }
}

TEST_CASE("--rank divides named shards in their order, with and without a manifest") {
  for (const char* manifest : {"manifest.json", ""}) {
    CAPTURE(manifest);
    Source one;
    StageOptions options = one.options();
    options.rank = "0";
    options.world = 2;
    one.stage(options,
              {.names = Names{"shard-000002.tar", "shard-000000.tar", "shard-000001.tar"}, .manifest_name = manifest});
    CHECK(one.tars() == Names{"shard-000001.tar", "shard-000002.tar"});
  }
}

TEST_CASE("named files that the manifest does not list are staged by their size") {
  Source one;
  one.source.content["later.tar"] = "a shard";
  const StageResult result =
      one.stage({.names = Names{"later.tar", "shard-000001.tar"}, .manifest_name = "manifest.json"});
  CHECK(one.tars() == Names{"later.tar", "shard-000001.tar"});
  CHECK(result.verified == staging::Verified::size);
}

TEST_CASE("a source that a convert or a stage has not finished is refused, except file by file") {
  formats::StageJournalState journal;
  journal.files["shard-000000.tar"] = {1, "pin", {}};
  for (const char* folder : {"", "train"}) {
    for (const bool is_stage : {true, false}) {
      CAPTURE(folder);
      CAPTURE(is_stage);
      Source one;
      for (const char* name : {"manifest.json", "shard-000002.tar"}) one.source.content.erase(name);
      one.source.content[is_stage ? ".shardkit/stage.journal" : ".shardkit/plan"] =
          is_stage ? journal.text() : one.shards.plan;
      const std::string prefix = *folder == '\0' ? "" : std::string(folder) + "/";
      std::map<std::string, std::string> content;
      for (const auto& [name, bytes] : one.source.content) content[prefix + name] = bytes;
      one.source.content = content;
      const auto failure = failure_of([&] { one.stage(StageRequest{}); });
      CHECK(failure == ErrorCode::conflict);
      CHECK(failure.says("has not finished"));
      CHECK_FALSE(std::filesystem::exists(one.shards.dir.path("out")));
      one.stage({.names = Names{prefix + "shard-000001.tar"}});
      CHECK(one.tars() == Names{prefix + "shard-000001.tar"});
    }
  }
}

TEST_CASE("sets below a folder into which a stage has not finished are refused, although each has its manifest") {
  Source one;
  formats::StageJournalState journal;
  for (const auto& [name, bytes] : one.shards.content) journal.files["train/" + name] = {bytes.size(), "pin", {}};
  one.move_below("train");
  one.source.content[".shardkit/stage.journal"] = journal.text();
  CHECK(failure_of([&] { one.stage(StageRequest{}); }).says("the stage into"));
  one.source.content[".shardkit/stage.journal"] = formats::StageJournalState{}.text();  // names nothing
  one.stage(StageRequest{});
  CHECK(one.tars().size() == 3);
}

TEST_CASE("--rank without shards to divide is a warning") {
  Source one;
  one.source.content = {{"a.txt", "a"}, {"b.txt", "b"}};
  StageOptions options = one.options();
  options.rank = "0";
  options.world = 2;
  one.stage(options, {});
  CHECK(std::ranges::find(one.warnings, "nothing_to_divide") != one.warnings.end());
  CHECK(one.copy().size() == 2);
}

TEST_CASE("DALI divides samples, which only a manifest counts") {
  Source one;
  StageOptions options = one.options();
  options.rank = "0";
  options.world = 2;
  options.split = RankSplit::dali;
  const auto failure = failure_of([&] { one.stage(options, {.use_manifests = false}); });
  CHECK(failure == ErrorCode::usage);
  CHECK(failure.says("only a manifest has"));
  one.stage(options, {.manifest_name = "manifest.json"});
}

TEST_CASE("a source that does not say whether it has a manifest is a warning, not silence") {
  Source one;
  const StageResult result = one.stage({.names = Names{"shard-000001.tar"}, .manifest_problem = "answer 403"});
  CHECK(one.warnings == Names{"manifest_unknown"});
  CHECK(result.verified == staging::Verified::size);
}
