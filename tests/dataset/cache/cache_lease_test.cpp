#include "dataset/cache/cache_lease.hpp"

#include <filesystem>
#include <thread>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/cache/cache_gc.hpp"
#include "dataset/cache/cache_support.hpp"
#include "staging/node_cache.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::staging;
using namespace shardkit::system;
using namespace std::chrono_literals;
using shardkit_test::failure_of;

namespace {

CacheReleaseResult release(const std::string& folder, const std::string& owner, bool all, Context& context) {
  return cache_release({folder, owner, all}, context);
}

std::vector<LeaseFile> leases_in(const SampleCache& cache, const char* folder) {
  return read_leases(cache.dir.path(folder));
}

}  // namespace

TEST_CASE("an owner's leases end in the whole cache, or in one folder of it") {
  const SampleCache cache;
  for (const char* folder : {"old", "sub/new"}) {
    cache.lease(folder, "a", 1h);
    cache.lease(folder, "b", 1h);
  }
  Context context;
  CHECK(release(cache.dir.path("old"), "a", false, context).released == 1);
  CHECK(read_leases(cache.dir.path("old")).size() == 1);
  CHECK(read_leases(cache.dir.path("sub/new")).size() == 2);
  const CacheReleaseResult result = release(cache.dir.path(), "b", false, context);
  CHECK(result.released == 2);
  CHECK(result.folders == 2);
  CHECK(result.owner == "b");
  CHECK(release(cache.dir.path(), "", true, context).released == 1);
  CHECK(context.warnings().empty());
}

TEST_CASE("to release what nobody leases is no error, but said") {
  const SampleCache cache;
  Context context;
  CHECK(release(cache.dir.path(), "a", false, context).released == 0);
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings()[0].code == "no_lease");
}

TEST_CASE("an owner beside --all and a folder that is not there are refused") {
  const SampleCache cache;
  Context context;
  CHECK(failure_of([&] { release(cache.dir.path(), "a", true, context); }) == ErrorCode::usage);
  CHECK(failure_of([&] { release(cache.dir.path("absent"), "a", false, context); }) == ErrorCode::not_found);
}

TEST_CASE("without a job and an id, nobody's lease is ended") {
  if (!job_lease_id(process_environment()).empty()) {
    MESSAGE("SKIPPED: these tests run in a job");
    return;
  }
  const SampleCache cache;
  cache.lease("old", "lease-0123456789ab", 1h);
  Context context;
  CHECK(release(cache.dir.path(), "", false, context).released == 0);
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings()[0].text.find("is leased by lease-0123456789ab") != std::string::npos);
  CHECK(leases_in(cache, "old").size() == 1);
}

TEST_CASE("a hold leases sets until it is stopped, also one that is not staged yet, and then ends its leases") {
  const SampleCache cache;
  cache.lease("old", "a", 1h);
  cache.lease("old", "b", 1h);
  std::stop_source stop;
  CacheHoldResult result;
  {
    const std::jthread holder([&] {
      Context context(stop.get_token());
      result = cache_hold({cache.dir.path("old"), 3, "a"}, context);
    });
    const std::jthread early([&] {
      Context context(stop.get_token());
      cache_hold({cache.dir.path("coming"), 3, "a"}, context);
    });
    while (leases_in(cache, "old").size() < 3 || leases_in(cache, "coming").empty()) std::this_thread::yield();
    CHECK(leases_in(cache, "coming")[0].lease->owner == "a");
    CHECK_FALSE(evict(*io::posix_file_system(), cache.dir.path("old"), system_clock().now(), {}));
    stop.request_stop();
  }
  CHECK(result.lease_id == "a");
  CHECK(result.renewals == 1);
  CHECK(leases_in(cache, "coming").empty());
  REQUIRE(leases_in(cache, "old").size() == 1);
  CHECK(leases_in(cache, "old")[0].lease->owner == "b");
  CHECK(cache.holds("old/1.tar"));
}

TEST_CASE("a hold refuses the folder of a cache, where a lease would protect nothing") {
  const SampleCache cache;
  Context context;
  const auto failure = failure_of([&] { cache_hold({cache.dir.path(), 3, "a"}, context); });
  CHECK(failure == ErrorCode::usage);
  CHECK(failure.says(cache.dir.path("old")));
  CHECK_FALSE(cache.holds(".shardkit"));
}

TEST_CASE("rm removes sets that nobody leases, and nothing else") {
  const SampleCache cache;
  write_file(cache.dir.path("old/mine"), "mine");
  cache.lease("sub/new", "a", 1h);
  Context context;
  CHECK(cache_rm({cache.dir.path("old")}, context).bytes == 1000);
  CHECK(cache.holds("old/mine"));
  CHECK_FALSE(cache.holds("old/1.tar"));
  const auto failure = failure_of([&] { cache_rm({cache.dir.path("sub/new")}, context); });
  CHECK(failure == ErrorCode::in_use);
  CHECK(failure.says("leased by a until"));
  CHECK(cache.holds("sub/new/1.tar"));
  CHECK(failure_of([&] { cache_rm({cache.dir.path("old")}, context); }) == ErrorCode::not_found);
}

TEST_CASE("rm removes a set that lost its journal once nothing else is among its files") {
  const SampleCache cache;
  Context context;
  std::filesystem::remove(cache.dir.path("sub/new/.shardkit/stage.journal"));
  write_file(cache.dir.path("sub/new/mine"), "mine");
  const auto failure = failure_of([&] { cache_rm({cache.dir.path("sub/new")}, context); });
  CHECK(failure == ErrorCode::conflict);
  CHECK(failure.says("counts 2 files of 2.93 KiB"));
  CHECK(cache.holds("sub/new/1.tar"));
  std::filesystem::rename(cache.dir.path("sub/new/mine"), cache.dir.path("mine"));
  CHECK(cache_rm({cache.dir.path("sub/new")}, context).bytes == 3000);
  CHECK_FALSE(cache.holds("sub/new/1.tar"));
}

TEST_CASE("rm removes what a stage left that was killed at any moment before its first file") {
  const SampleCache cache;
  const auto rm = [&] {
    Context context;
    return cache_rm({cache.dir.path("begun")}, context);
  };
  std::filesystem::create_directories(cache.dir.path("begun/.shardkit"));
  write_file(cache.dir.path("begun/.shardkit/stage.lock"), "");
  CHECK(failure_of(rm) == ErrorCode::not_found);  // nothing of a set is there
  std::filesystem::create_directories(cache.dir.path("begun/.shardkit/staging"));
  CHECK(rm().bytes == 0);
  CHECK_FALSE(cache.holds("begun/.shardkit/staging"));
  std::filesystem::create_directories(cache.dir.path("begun/.shardkit/staging"));
  write_file(cache.dir.path("begun/.shardkit/stage.journal"), "");
  rm();
  CHECK_FALSE(cache.holds("begun/.shardkit/stage.journal"));
  CHECK(failure_of(rm) == ErrorCode::not_found);
}
