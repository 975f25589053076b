#include "dataset/cache/cache_gc.hpp"

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

CacheGcResult gc(const SampleCache& cache, std::optional<std::uint64_t> limit, bool dry_run = false) {
  Context context;
  return cache_gc({cache.dir.path(), limit, dry_run}, context);
}

}  // namespace

TEST_CASE("the sets used least recently go until the limit is kept") {
  const SampleCache cache;
  CHECK(gc(cache, 4000).evicted.empty());
  const CacheGcResult result = gc(cache, 3999);
  REQUIRE(result.evicted.size() == 1);
  CHECK(result.evicted[0].path == cache.dir.path("old"));
  CHECK(result.evicted[0].source == "/src/old");
  CHECK(result.evicted_bytes == 1000);
  CHECK(result.folders_left == 1);
  CHECK(result.bytes_left == 3000);
  CHECK_FALSE(cache.holds("old/1.tar"));
  CHECK(cache.holds("sub/new/1.tar"));
}

TEST_CASE("a dry run says the same and changes nothing, whatever the leftovers take of the limit") {
  for (const std::optional<std::uint64_t> limit : {std::optional<std::uint64_t>{}, {0}, {3999}, {4000}}) {
    CAPTURE(limit.value_or(1));
    const SampleCache cache;
    write_file(cache.dir.path("old/.shardkit/staging/x.partial"), "part");
    cache.lease("old", "ended", -1h);
    const auto before = tree_content(cache.dir.path());
    const CacheGcResult dry = gc(cache, limit, true);
    CHECK(tree_content(cache.dir.path()) == before);
    const CacheGcResult real = gc(cache, limit);
    CHECK(real.evicted.size() == dry.evicted.size());
    CHECK(real.evicted_bytes == dry.evicted_bytes);
    CHECK(real.leftover_files == dry.leftover_files);
    CHECK(real.leftover_bytes == dry.leftover_bytes);
    CHECK(real.folders_left == dry.folders_left);
    CHECK(real.bytes_left == dry.bytes_left);
    CHECK(cache.holds("sub/new/1.tar") == (limit != 0U));
  }
}

TEST_CASE("without a limit only leftovers go") {
  const SampleCache cache;
  write_file(cache.dir.path("old/.shardkit/staging/x.partial"), "part");
  cache.lease("old", "ended", -1h);
  CHECK(gc(cache, {}).leftover_files == 2);
  CHECK(cache.holds("old/1.tar"));
  CHECK_FALSE(cache.holds("old/.shardkit/staging/x.partial"));
  CHECK(read_leases(cache.dir.path("old")).empty());
}

TEST_CASE("a limit that leases and stages hold back is no_space, after the rest has gone") {
  const SampleCache cache;
  StagedSample{cache.dir.path("more"), {{"1.tar", std::string(500, 'x')}}}.make();
  cache.lease("old", "job-7", 1h);
  FolderLock lock(cache.dir.path("sub/new/.shardkit/stage.lock"));
  REQUIRE(lock.try_take(LockMode::shared));
  const auto failure = failure_of([&] { gc(cache, 100); });
  CHECK(failure == ErrorCode::no_space);
  CHECK(failure.says("evicted 1 folder"));
  CHECK(failure.says("old' (1000 B) is leased by job-7"));
  CHECK(failure.says("new' (2.93 KiB) is in use by another command"));
  CHECK_FALSE(cache.holds("more/1.tar"));
  CHECK(cache.holds("old/1.tar"));
  CHECK(cache.holds("sub/new/2.tar"));
}

TEST_CASE("one staged folder is evicted as a cache of itself") {
  const SampleCache cache;
  Context context;
  CHECK(cache_gc({cache.dir.path("old"), 0, false}, context).evicted.size() == 1);
  CHECK_FALSE(cache.holds("old/1.tar"));
  CHECK(cache.holds("sub/new/1.tar"));
}

TEST_CASE("an empty cache is kept without a trace") {
  const TempDir dir;
  Context context;
  CHECK(cache_gc({dir.path(), 0, false}, context).folders_left == 0);
  CHECK(std::filesystem::is_empty(dir.path()));
}
