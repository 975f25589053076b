#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/cache/cache.hpp"
#include "dataset/cache/cache_support.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::staging;
using namespace std::chrono_literals;
using shardkit_test::failure_of;

namespace {

CacheReleaseResult release(const std::string& folder, const std::string& owner, bool all, Context& ctx) {
  return cache_release({folder, owner, all}, ctx);
}

}  // namespace

TEST_CASE("an owner's leases end in the whole cache, or in one folder of it") {
  const SampleCache cache;
  for (const char* folder : {"old", "sub/new"}) {
    cache.lease(folder, "a", 1h);
    cache.lease(folder, "b", 1h);
  }
  Context ctx;
  CHECK(release(cache.dir.path("old"), "a", false, ctx).released == 1);
  CHECK(read_leases(cache.dir.path("old")).size() == 1);
  CHECK(read_leases(cache.dir.path("sub/new")).size() == 2);
  const CacheReleaseResult result = release(cache.dir.path(), "b", false, ctx);
  CHECK(result.released == 2);
  CHECK(result.folders == 2);
  CHECK(result.owner == "b");
  CHECK(release(cache.dir.path(), "", true, ctx).released == 1);
  CHECK(ctx.warnings().empty());
}

TEST_CASE("to release what nobody leases is no error, but said") {
  const SampleCache cache;
  Context ctx;
  CHECK(release(cache.dir.path(), "a", false, ctx).released == 0);
  REQUIRE(ctx.warnings().size() == 1);
  CHECK(ctx.warnings()[0].code == "no_lease");
}

TEST_CASE("an owner beside --all and a folder that is not there are refused") {
  const SampleCache cache;
  Context ctx;
  CHECK(failure_of([&] { release(cache.dir.path(), "a", true, ctx); }) == ErrorCode::usage);
  CHECK(failure_of([&] { release(cache.dir.path("absent"), "a", false, ctx); }) == ErrorCode::not_found);
}
