// Sources that are damaged, incomplete or written meanwhile.

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "dataset/stage/stage_support.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit_test;

TEST_CASE("bytes that are wrong once are fetched again, bytes that stay wrong are an error that names both hashes") {
  const Shards shards;
  FakeSource source = shards.fake();
  const StageOptions options = into(shards.dir.path("out"));
  source.flip("shard-000000.tar", 700, 1);
  SUBCASE("once") {
    const StageResult result = run(source, options);
    CHECK(result.retries == 1);
    CHECK(result.bytes_fetched == result.bytes + shards.content.at("shard-000000.tar").size());
    CHECK(staged_content(options.target) == shards.content);
  }
  SUBCASE("for good") {
    source.flip("shard-000000.tar", 700, 1000);
    const Error error = failure(source, options);
    CHECK(error.code() == ErrorCode::corrupt);
    CHECK(error.path() == "/fake/shard-000000.tar");
    std::string flipped = shards.content.at("shard-000000.tar");
    CHECK(says(error, to_hex(xxh3_128(as_bytes(flipped)))));
    flipped[700] ^= 1;
    CHECK(says(error, to_hex(xxh3_128(as_bytes(flipped)))));
    CHECK_FALSE(std::filesystem::exists(options.target + "/shard-000000.tar"));
    CHECK(std::filesystem::is_empty(options.target + "/.shardkit/staging"));
  }
  SUBCASE("with other bytes in each read, so that the source is not to blame and a repetition may help") {
    source.flip("shard-000000.tar", 700, 1000);
    source.flips_other_bits = true;
    const Error error = failure(source, options);
    CHECK(error.code() == ErrorCode::io);
    CHECK(says(error, "other content in a second read"));
    CHECK_FALSE(says(error, "restore it"));
    CHECK_FALSE(std::filesystem::exists(options.target + "/shard-000000.tar"));
  }
}

TEST_CASE("a set is staged without an index that is damaged, or speaks of another shard, with a warning") {
  const Shards shards;
  FakeSource source = shards.fake();
  const std::string name = ".shardkit/shard-000000.tar.index";
  std::string& index = source.content.at(name);
  SUBCASE("damaged") { index[index.size() / 2] ^= 1; }
  SUBCASE("cut") { index.resize(index.size() / 2); }
  SUBCASE("another's") { index = shards.content.at(".shardkit/shard-000001.tar.index"); }
  const StageOptions options = into(shards.dir.path("out"));
  for (int i = 0; i < 2; ++i) {
    Context context;
    const StageResult result = stage_whole(*posix_file_system(), source, wanted(options), options, context, steps());
    CHECK(result.files == shards.content.size() - 1);
    REQUIRE(context.warnings().size() == 1);
    CHECK(context.warnings()[0].code == "index_ignored");
    CHECK(context.warnings()[0].text.find(name) != std::string::npos);
    auto rest = shards.content;
    rest.erase(name);
    CHECK(staged_content(options.target) == rest);
  }
  source.content = shards.content;
  run(source, options);
  CHECK(staged_content(options.target) == shards.content);
}

TEST_CASE("what is missing or of another size in the source is named") {
  const Shards shards;
  FakeSource source = shards.fake();
  StageOptions options = into(shards.dir.path("out"));
  const auto fails = [&](ErrorCode code, std::string_view text) {
    for (const bool dry_run : {true, false}) {
      options.dry_run = dry_run;
      const Error error = failure(source, options);
      CHECK(error.code() == code);
      CHECK(says(error, text));
    }
  };
  SUBCASE("shard") {
    source.content.erase("shard-000001.tar");
    fails(ErrorCode::not_found, "shard-000001.tar");
  }
  SUBCASE("manifest") {
    source.content.erase("manifest.json");
    fails(ErrorCode::not_found, "manifest.json");
    CHECK_FALSE(std::filesystem::exists(options.target));
  }
  SUBCASE("truncated shard") {
    source.content.at("shard-000001.tar").resize(1000);
    fails(ErrorCode::not_found, "is damaged");
    CHECK_FALSE(std::filesystem::exists(options.target));
  }
}

TEST_CASE("a source that keeps changing is an error after which a retry may help") {
  FakeSource source;
  source.content["busy.bin"] = noise(kPart, 1);
  const TempDir dir;
  StageOptions options = into(dir.path("out"));
  options.manifest = "none";
  source.at_every_read([&] { source.content["busy.bin"][0] ^= 1; });
  CHECK(failure(source, options).code() == ErrorCode::io);
  CHECK_FALSE(std::filesystem::exists(dir.path("out/busy.bin")));
  source.at_every_read({});
  run(source, options);
  CHECK(staged_content(dir.path("out")) == source.content);
}
