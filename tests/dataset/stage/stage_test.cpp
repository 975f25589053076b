#include "dataset/stage/stage.hpp"

#include <filesystem>
#include <map>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dataset/stage/stage_support.hpp"
#include "support/case_blind_file_system.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::formats;
using namespace shardkit::io;
using namespace shardkit_test;

TEST_CASE("stage copies shards, indexes and manifest and marks the folder") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageResult result = run(source, into(shards.dir.path("out")));
  CHECK(staged_content(shards.dir.path("out")) == shards.content);
  CHECK(result.files == shards.content.size());
  std::uint64_t bytes = 0;
  for (const auto& [name, content] : shards.content) bytes += content.size();
  CHECK(result.bytes == bytes);
  CHECK(result.bytes_fetched == bytes);
  CHECK(result.bytes_reused == 0);
  CHECK(result.retries == 0);
  CHECK_FALSE(result.resumed);
  CHECK(result.verified == staging::Verified::checksum);
  CHECK(result.manifest_xxh3_128 == to_hex(xxh3_128(as_bytes(shards.content.at("manifest.json")))));
  CHECK(read_file(shards.dir.path("out/.shardkit/staged.json")).find(result.manifest_xxh3_128) != std::string::npos);
}

TEST_CASE(
    "other readers' indexes that the manifest lists are checked, and left out with a warning where they are gone") {
  const Shards shards;
  FakeSource source = shards.fake();
  Manifest manifest = read_manifest(source.content.at("manifest.json"), "manifest.json");
  const std::string text = "v1.2 1\n";
  manifest.files = {{"shard-000001.idx", text.size(), xxh3_128(as_bytes(text))}};
  source.content["manifest.json"] = write_manifest(manifest);
  source.content["shard-000001.idx"] = "v1.2 2\n";
  CHECK_THROWS_WITH_AS(run(source, into(shards.dir.path("wrong"))), doctest::Contains("shard-000001.idx"), Error);
  source.content["shard-000001.idx"] = text;
  CHECK(run(source, into(shards.dir.path("out"))).files_by_size == 0);
  CHECK(read_file(shards.dir.path("out/shard-000001.idx")) == text);
  source.content.erase("shard-000001.idx");
  Context context;
  const StageOptions without = into(shards.dir.path("without"));
  stage_whole(*posix_file_system(), source, wanted(without), without, context, steps());
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings()[0].code == "indexes_missing");
  CHECK_FALSE(std::filesystem::exists(shards.dir.path("without/shard-000001.idx")));
}

TEST_CASE(
    "indexes of other readers that came to the source later, or were edited there, are brought by the next stage") {
  const Shards shards;
  FakeSource source = shards.fake();
  run(source, into(shards.dir.path("out")));
  const std::string shard = "shard-000001";
  source.content[shard + ".idx"] = "v1.2 1\n";
  source.content[shard + ".tar.idx"] = "12345678";
  source.content["shardindex.json"] = "{}";
  source.content[".nv-meta/split.yaml"] = "split_parts: {}";
  source.bytes_read = 0;
  const StageResult more = run(source, into(shards.dir.path("out")));
  CHECK(more.files == source.content.size());
  CHECK(more.bytes_fetched == source.content.at("manifest.json").size() + 7 + 8 + 2 + 15);
  for (const std::string& name : {shard + ".idx", shard + ".tar.idx", std::string(".nv-meta/split.yaml")}) {
    CHECK(read_file(shards.dir.path("out/" + name)) == source.content.at(name));
  }
  source.content[".nv-meta/split.yaml"] = "split_parts: {1}";
  run(source, into(shards.dir.path("out")));
  CHECK(read_file(shards.dir.path("out/.nv-meta/split.yaml")) == "split_parts: {1}");
  source.bytes_read = 0;
  CHECK(run(source, into(shards.dir.path("out"))).bytes_fetched == 0);
  CHECK(source.bytes_read == source.content.at("manifest.json").size());
}

TEST_CASE("a second stage reads nothing but the manifest") {
  const Shards shards;
  FakeSource source = shards.fake();
  run(source, into(shards.dir.path("out")));
  std::erase_if(source.content, [](const auto& item) { return item.first != "manifest.json"; });
  source.bytes_read = 0;
  const StageResult again = run(source, into(shards.dir.path("out")));
  CHECK(source.bytes_read == shards.content.at("manifest.json").size());
  CHECK(again.bytes_fetched == 0);
  CHECK(again.bytes_reused == again.bytes);
  CHECK(again.files == shards.content.size());
  CHECK(again.resumed == fmt::format("{0} of {0} files kept", again.files));
}

TEST_CASE("a stage that goes on says how many files it kept") {
  const Shards shards;
  FakeSource source = shards.fake();
  run(source, into(shards.dir.path("out")));
  for (const char* name : {"shard-000001.tar", ".shardkit/staged.json"})
    std::filesystem::remove(shards.dir.path("out/") + name);
  const StageResult result = run(source, into(shards.dir.path("out")));
  CHECK(result.resumed == fmt::format("{} of {} files kept", result.files - 2, result.files));  // the manifest is new
}

TEST_CASE("a manifest of the user's own decides in place of the source's") {
  const Shards shards;
  FakeSource source = shards.fake();
  const std::string right = source.content.at("manifest.json");
  write_file(shards.dir.path("trusted.json"), right);
  source.content.erase("manifest.json");
  StageOptions options = into(shards.dir.path("out"));
  options.manifest = shards.dir.path("trusted.json");
  run(source, options);
  CHECK(staged_content(options.target) == shards.content);
}

TEST_CASE("a limit below the need is an error before anything is made") {
  const Shards shards;
  FakeSource source = shards.fake();
  StageOptions options = into(shards.dir.path("out"));
  options.share.limit = 100'000;
  const Error error = failure(source, options);
  CHECK(error.code() == ErrorCode::no_space);
  CHECK_FALSE(std::filesystem::exists(options.target));
}

TEST_CASE("a folder that holds something else is refused") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageOptions options = into(shards.dir.path("out"));
  SUBCASE("a finished copy of another set") {
    run(source, options);
    Manifest manifest = read_manifest(source.content.at("manifest.json"), "");
    manifest.shards[0].xxh3_128 = {7, 7};
    source.content["manifest.json"] = write_manifest(manifest);
    CHECK(failure(source, options).code() == ErrorCode::conflict);
    CHECK(staged_content(options.target) == shards.content);
    CHECK(std::filesystem::exists(options.target + "/.shardkit/staged.json"));
  }
  SUBCASE("a shard of that name with other bytes, which stays") {
    const std::string other = noise(shards.content.at("shard-000000.tar").size(), 9);
    write_file(options.target + "/shard-000000.tar", other);
    CHECK(failure(source, options).code() == ErrorCode::conflict);
    CHECK(read_file(options.target + "/shard-000000.tar") == other);
  }
  SUBCASE("a shard of that name that comes while it is copied, which stays") {
    source.at_every_read([&] { write_file(options.target + "/shard-000000.tar", "mine"); });
    CHECK(failure(source, options).code() == ErrorCode::conflict);
    CHECK(read_file(options.target + "/shard-000000.tar") == "mine");
  }
  SUBCASE("a link of that name that leads nowhere yet, which stays") {
    std::filesystem::create_directories(options.target);
    const std::string link = options.target + "/shard-000000.tar";
    std::filesystem::create_symlink("/not/mounted/now", link);
    CHECK(failure(source, options).code() == ErrorCode::conflict);
    CHECK(std::filesystem::is_symlink(link));
  }
}

TEST_CASE("a set that only grew is updated, also while other jobs lease it") {
  const Shards shards;
  FakeSource source = shards.fake();
  Manifest whole = read_manifest(source.content.at("manifest.json"), "");
  Manifest part = whole;
  part.samples -= part.shards.back().samples;
  part.bytes -= part.shards.back().bytes;
  part.shards.pop_back();
  source.content["manifest.json"] = write_manifest(part);
  source.content.erase(whole.shards.back().name);
  source.content.erase(shard_index_path(whole.shards.back().name));
  StageOptions options = into(shards.dir.path("out"));
  options.share.lease = 3600;
  options.share.lease_id = "job-1";
  run(source, options);

  source.content = shards.content;
  options.share.lease_id = "job-2";
  const StageResult result = run(source, options);
  CHECK(staged_content(options.target) == shards.content);
  CHECK(result.bytes_reused > 0);
  CHECK(result.evicted.empty());
}

TEST_CASE("right bytes that something else copied are taken over, not fetched") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageOptions options = into(shards.dir.path("out"));
  const std::string name = ".shardkit/shard-000000.tar.index";
  write_file(options.target + "/" + name, shards.content.at(name));
  const StageResult result = run(source, options);
  CHECK(result.bytes_reused == shards.content.at(name).size());
  CHECK(staged_content(options.target) == shards.content);
}

TEST_CASE("a folder with tars, a set or files in the way is refused, and every byte stays as it was") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageOptions options = into(shards.dir.path("out"));
  std::map<std::string, std::string> there = shards.content;
  SUBCASE("the same set, which no stage brought") {}
  SUBCASE("a convert that has not finished") {
    there = {{".shardkit/plan", shards.plan}, {"shard-000001.tar", shards.content.at("shard-000001.tar")}};
  }
  SUBCASE("tars of others") { there = {{"other.tar", "x"}}; }
  SUBCASE("a file of others with the name of one of the set") {
    source.content["classes.txt"] = "cat";
    there = {{"classes.txt", "dog"}};
  }
  SUBCASE("a manifest of another program") { there = {{"manifest.json", R"({"name": "app"})"}}; }
  SUBCASE("a set, with the journal of a stage that brought nothing") {
    there[".shardkit/stage.journal"] = StageJournalState{StagedSetId{{1, 2}, 0, "/other"}, {}}.text();
  }
  for (const auto& [name, bytes] : there) write_file(options.target + "/" + name, bytes);
  for (int i = 0; i < 2; ++i) CHECK(failure(source, options).code() == ErrorCode::conflict);
  CHECK(tree_content(options.target) == there);
}

TEST_CASE("an unfinished copy of another set gives way") {
  const Shards shards;
  FakeSource source = shards.fake();
  FakeSource other;
  other.content = {{"old.tar", noise(1000, 4)}, {"shard-000000.tar", noise(3000, 5)}, {"z", noise(10, 6)}};
  StageOptions options = into(shards.dir.path("out"));
  options.manifest = "none";
  other.break_at("z", 0);
  CHECK(failure(other, options).code() == ErrorCode::io);
  CHECK(std::filesystem::exists(options.target + "/old.tar"));
  options.manifest.clear();
  run(source, options);
  CHECK(staged_content(options.target) == shards.content);
}

TEST_CASE("a stranger's tar beside the shards is left alone and warned of") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageOptions options = into(shards.dir.path("out"));
  run(source, options);
  write_file(options.target + "/other.tar", "x");
  std::filesystem::remove(options.target + "/shard-000001.tar");
  Context context;
  stage_whole(*posix_file_system(), source, wanted(options), options, context, steps());
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings()[0].code == "extra_shard");
  CHECK(read_file(options.target + "/other.tar") == "x");
}

TEST_CASE("names that are one on the target's disk are refused before anything is copied") {
  const Shards shards;
  FakeSource source = shards.fake();
  source.content["CLASSES.txt"] = source.content["classes.txt"] = "x";
  const StageOptions options = into(shards.dir.path("out"));
  CaseBlindFileSystem blind;
  Context context;
  const auto refused =
      shardkit_test::failure_of([&] { stage_whole(blind, source, wanted(options), options, context, steps()); });
  CHECK(refused == ErrorCode::unsupported);
  CHECK(refused.says("'classes.txt'"));
  CHECK(refused.says("'CLASSES.txt'"));
  CHECK_FALSE(std::filesystem::exists(options.target + "/shard-000000.tar"));
}

TEST_CASE("a folder with other files is said to be one, and what servers make in each folder is none") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageOptions options = into(shards.dir.path("out"));
  std::filesystem::create_directories(options.target + "/lost+found");
  std::filesystem::create_directories(options.target + "/photos");
  Context context;
  stage_whole(*posix_file_system(), source, wanted(options), options, context, steps());
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings()[0].code == "other_files");
  CHECK(context.warnings()[0].text.find("'photos'") != std::string::npos);
}

TEST_CASE("a target with a trailing slash is the same folder") {
  const Shards shards;
  FakeSource source = shards.fake();
  const std::string target = shards.dir.path("out");
  run(source, into(target + "/"));
  CHECK(staged_content(target) == shards.content);
  CHECK(run(source, into(target)).bytes_fetched == 0);
}

TEST_CASE("with ranks only their shards come, with their indexes, and the marker says whose they are") {
  const Shards shards;
  FakeSource source = shards.fake();
  StageOptions options = into(shards.dir.path("out"));
  options.world = 3;
  options.rank = "1";
  const StageResult first = run(source, options);
  CHECK(first.files == 3);
  const auto staged = [&] {
    std::vector<std::string> names;
    for (const auto& [name, content] : staged_content(options.target)) names.push_back(name);
    return names;
  };
  CHECK(staged() == std::vector<std::string>{".shardkit/shard-000001.tar.index", "manifest.json", "shard-000001.tar"});
  CHECK(read_file(options.target + "/.shardkit/staged.json").find("ranks 1-1 of 3 by webdataset") != std::string::npos);
  SUBCASE("again it reads nothing but the manifest") { CHECK(run(source, options).bytes_fetched == 0); }
  SUBCASE("other ranks of the same set add theirs to the folder") {
    options.rank = "2";
    const StageResult second = run(source, options);
    CHECK(second.bytes_fetched < second.bytes + 1);
    CHECK(staged().size() == 5);
    const std::string marker = read_file(options.target + "/.shardkit/staged.json");
    CHECK(marker.find("ranks 1-1 of 3") != std::string::npos);
    CHECK(marker.find("ranks 2-2 of 3") != std::string::npos);
    options.rank = "1";
    CHECK(run(source, options).bytes_fetched == 0);
  }
  SUBCASE("the whole set adds the rest") {
    options.rank.reset();
    options.world.reset();
    run(source, options);
    CHECK(staged_content(options.target) == shards.content);
    CHECK(read_file(options.target + "/.shardkit/staged.json").find("subsets") == std::string::npos);
  }
}

TEST_CASE("ranks without a manifest add theirs to the folder too, and are in place when they are asked for again") {
  FakeSource source;
  for (const char* name : {"0.tar", "1.tar", "2.tar", "notes.txt"}) source.content[name] = noise(1000, 1);
  const TempDir dir;
  StageOptions options = into(dir.path("out"));
  options.manifest = "none";
  options.world = 3;
  for (const char* rank : {"0", "1"}) {
    options.rank = rank;
    run(source, options);
    CHECK(run(source, options).bytes_fetched == 0);
  }
  const auto marker = [&] {
    return formats::read_staged_marker(read_file(options.target + "/.shardkit/staged.json"), "");
  };
  CHECK(marker().subsets.size() == 2);
  options.rank = "0";
  CHECK(run(source, options).bytes_fetched == 0);
  CHECK(staged_content(options.target).size() == 3);

  source.content["2.tar"] = noise(1000, 2);  // of another rank, but of the same set
  options.rank = "2";
  run(source, options);
  CHECK(read_file(options.target + "/2.tar") == source.content["2.tar"]);
  options.rank.reset();
  options.world.reset();
  run(source, options);
  CHECK(marker().subsets.empty());
  CHECK(staged_content(options.target) == source.content);
}

TEST_CASE("nothing is staged onto itself: a copy that is the source would be evicted with it") {
  const Shards shards;
  Context context;
  StageOptions options = into(shards.dir.path("shards"));
  SUBCASE("by a manifest") { options.sources = {shards.dir.path("shards/manifest.json")}; }
  SUBCASE("by a pattern") { options.sources = {shards.dir.path("shards/shard-{000000..000002}.tar")}; }
  try {
    stage(options, context);
    FAIL("staged");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::usage);
  }
  CHECK(tree_content(options.target) == shards.content);
}

TEST_CASE("other files of the same folder do not take the place of those that were named before") {
  const TempDir dir;
  for (const char* name : {"a", "b", "c"}) write_file(dir.path("src/") + name, name);
  StageOptions options = into(dir.path("out"));
  options.share.lease = 0;
  const auto stage_of = [&](std::vector<std::string> names) {
    options.sources.clear();
    for (const std::string& name : names) options.sources.push_back(dir.path("src/" + name));
    Context context;
    stage(options, context);
  };
  stage_of({"a", "b"});
  CHECK_THROWS_AS(stage_of({"c"}), Error);
  CHECK(read_file(dir.path("out/a")) == "a");
  write_file(dir.path("src/a"), "newer");
  stage_of({"a", "b"});
  CHECK(read_file(dir.path("out/a")) == "newer");
}

TEST_CASE("somebody else's manifest is not overwritten, and damage to the marker is not the end") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageOptions options = into(shards.dir.path("out"));
  SUBCASE("manifest") {
    write_file(options.target + "/manifest.json", "precious");
    CHECK(failure(source, options).code() == ErrorCode::corrupt);  // it may be a damaged one of ours
    CHECK(tree_content(options.target) == std::map<std::string, std::string>{{"manifest.json", "precious"}});
  }
  SUBCASE("marker") {
    run(source, options);
    write_file(options.target + "/.shardkit/staged.json", "{}");
    CHECK(run(source, options).bytes_fetched == source.content.at("manifest.json").size());
    CHECK(read_file(options.target + "/.shardkit/staged.json").size() > 10);
  }
}

TEST_CASE("a version that came and went while it was copied is not taken for the one that is back") {
  FakeSource source;
  source.content["x.bin"] = noise(kPart, 1);
  const std::string before = source.content["x.bin"];
  const TempDir dir;
  StageOptions options = into(dir.path("out"));
  options.manifest = "none";
  bool changed = false;
  source.at_every_read([&] {
    if (!std::exchange(changed, true)) source.content["x.bin"] = noise(kPart, 2);
  });
  run(source, options);
  CHECK(read_file(dir.path("out/x.bin")) == noise(kPart, 2));
  source.content["x.bin"] = before;
  run(source, options);
  CHECK(read_file(dir.path("out/x.bin")) == before);
}

TEST_CASE("a journal that somebody wrote into leads to nothing outside the folder") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageOptions options = into(shards.dir.path("out"));
  write_file(shards.dir.path("victim"), "precious");
  write_file(options.target + "/.shardkit/stage.journal", "file\t8\t" + to_hex(Hash128{}) + "\tpin\t../victim\n");
  run(source, options);
  CHECK(read_file(shards.dir.path("victim")) == "precious");
}
