#include "dataset/cache/cache_ls.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/cache/cache_support.hpp"
#include "io/file_system.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::io;
using namespace shardkit::staging;
using namespace std::chrono_literals;
using shardkit_test::failure_of;

namespace {

CacheLsResult ls(const std::string& folder, bool files = false) {
  Context context;
  return cache_ls({folder, files}, context);
}

}  // namespace

TEST_CASE("a cache is listed by folder, with totals") {
  const SampleCache cache;
  const CacheLsResult result = ls(cache.dir.path());
  REQUIRE(result.folders.size() == 2);
  CHECK(result.folders[0].path == cache.dir.path("old"));
  CHECK(result.folders[0].source == "/src/old");
  CHECK(result.folders[0].state == StagedState::complete);
  CHECK(result.folders[1].path == cache.dir.path("sub/new"));
  CHECK(result.folders[1].files == 2);
  CHECK(result.folders[1].bytes == 3000);
  CHECK(result.folders[1].last_used > result.folders[0].last_used);
  CHECK(result.folders[1].contents.empty());
  CHECK(result.files == 3);
  CHECK(result.bytes == 4000);
  CHECK(result.leased_bytes == 0);
}

TEST_CASE("leases are shown with owner and end, those that have ended and those that cannot be read too") {
  const SampleCache cache;
  cache.lease("old", "a", 1h);
  cache.lease("sub/new", "b", -1h);
  write_file(cache.dir.path("sub/new/.shardkit/leases/z.json"), "?");
  const CacheLsResult result = ls(cache.dir.path());
  REQUIRE(result.folders[0].lease_rows.size() == 1);
  CHECK(result.folders[0].lease_rows[0].owner == "a");
  CHECK(result.folders[0].lease_rows[0].live);
  REQUIRE(result.folders[1].lease_rows.size() == 2);
  CHECK_FALSE(result.folders[1].lease_rows[0].live);
  CHECK(result.folders[1].lease_rows[1].live);
  CHECK_FALSE(result.folders[1].lease_rows[1].fault.empty());
  CHECK(result.leased_bytes == 4000);
}

TEST_CASE("one staged folder is listed as a cache of itself, with its files where asked for") {
  const SampleCache cache;
  const CacheLsResult result = ls(cache.dir.path("sub/new"), true);
  REQUIRE(result.folders.size() == 1);
  REQUIRE(result.folders[0].contents.size() == 2);
  CHECK(result.folders[0].contents[1].name == "2.tar");
  CHECK(result.folders[0].contents[1].bytes == 2000);
}

TEST_CASE("a file that was just written is in memory, where the system tells") {
  const SampleCache cache;
  const CacheLsResult result = ls(cache.dir.path());
  if (result.resident_ratio) CHECK(*result.resident_ratio == 1.0);
}

TEST_CASE("a copy under way is distinguished from one that was left") {
  const SampleCache cache;
  StagedSample{cache.dir.path("part"), {{"1.tar", "x"}}, false}.make();
  CHECK(ls(cache.dir.path("part")).folders[0].state == StagedState::partial);
  FolderLock lock(cache.dir.path("part/.shardkit/stage.lock"));
  REQUIRE(lock.try_take(LockMode::shared));
  CHECK(ls(cache.dir.path("part")).folders[0].state == StagedState::in_progress);
}

TEST_CASE("a folder without staged folders is an empty cache, one that is not there an error") {
  const TempDir dir;
  CHECK(ls(dir.path()).folders.empty());
  CHECK(failure_of([&] { ls(dir.path("absent")); }) == ErrorCode::not_found);
}
