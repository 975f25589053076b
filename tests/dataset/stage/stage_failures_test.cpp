// Files that fail at the source: which of them end a stage, and what is staged without them.

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "dataset/stage/stage_remote_support.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::net;
using namespace shardkit_test;

namespace {

/// 50 files without a manifest.
FakeSource many_files() {
  FakeSource source;
  for (int i = 0; i < 50; ++i) source.content[fmt::format("{:02}.bin", i)] = noise(1000, 1);
  return source;
}

StageOptions unlisted(const TempDir& dir) {
  StageOptions options = into(dir.path("out"));
  options.manifest = "none";
  return options;
}

StageResult most_of(FakeSource& source, const StageOptions& options) {
  Context context;
  return stage_on(*posix_file_system(), source, wanted(options), options, context, steps());
}

}  // namespace

TEST_CASE("an object that is removed after it was listed may be back, or gone, in the next run") {
  FakeSource source = many_files();
  const TempDir dir;
  source.at_every_read([&] { source.content.erase("49.bin"); });
  const Error error = failure(source, unlisted(dir));
  CHECK(error.code() == ErrorCode::io);
  CHECK(std::string(error.what()).find("'/fake/49.bin' was removed from the source after it was listed") > 0);
  run(source, unlisted(dir));
  CHECK(staged_content(dir.path("out")) == source.content);
}

TEST_CASE("the files that do not fail are staged, without a marker, and the failure is that of the worst") {
  FakeSource source = many_files();
  const TempDir dir;
  source.at_every_read([&] { source.content.erase("49.bin"); });
  const StageResult result = most_of(source, unlisted(dir));
  REQUIRE(result.failure);
  CHECK(result.failure->code() == ErrorCode::io);
  REQUIRE(result.failed_files.size() == 1);
  CHECK(result.failed_files[0].path == "49.bin");
  CHECK(result.failed == 1);
  CHECK(std::filesystem::exists(dir.path("out/48.bin")));
  CHECK_FALSE(std::filesystem::exists(dir.path("out/49.bin")));
  CHECK_FALSE(std::filesystem::exists(dir.path("out/.shardkit/staged.json")));
}

TEST_CASE("a failure of the target ends a stage") {
  FakeSource source = many_files();
  const TempDir dir;
  std::filesystem::create_directories(dir.path("out"));
  write_file(dir.path("out/07.bin"), "another program's");
  CHECK(failure_of([&] { most_of(source, unlisted(dir)); }) == ErrorCode::conflict);
}

TEST_CASE("an object that the server refuses is left out") {
  const Shards shards;
  const Way way{true, false};
  RemoteSet set(shards);
  const TempDir dir;
  set.server.refuse(RemoteSet::kShard, 500);
  const StageResult result = set.stage_most(way, dir.path("out"), set.options());
  REQUIRE(result.failure);
  CHECK(result.failure->code() == ErrorCode::network);
  CHECK(result.failed == 1);
  auto expected = set.expected(way);
  expected.erase("shard-000001.tar");
  auto staged = staged_content(dir.path("out"));
  std::erase_if(staged, [](const auto& item) { return item.first.starts_with(".shardkit/staging/"); });
  CHECK((staged == expected));
}
