#include "dataset/cache/cache_warm.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dataset/cache/cache_support.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using shardkit_test::failure_of;

namespace {

CacheWarmResult warm(const std::string& folder, std::optional<std::uint64_t> memory, Context& context) {
  CacheWarmOptions options;
  options.folder = folder;
  options.memory = memory;
  return cache_warm(options, context);
}

bool warned(const Context& context, std::string_view code) {
  const auto warnings = context.warnings();
  return std::ranges::find(warnings, code, &Finding::code) != warnings.end();
}

}  // namespace

TEST_CASE("all files are in memory afterwards, and nothing is read twice") {
  const SampleCache cache;
  Context context;
  const CacheWarmResult result = warm(cache.dir.path(), {}, context);
  CHECK(result.files == 3);
  CHECK(result.bytes == 4000);
  CHECK(result.files_warmed == 3);
  CHECK(result.bytes_warmed == 4000);
  if (result.residency_after_ratio) {
    CHECK(*result.residency_after_ratio == 1.0);
    CHECK(warm(cache.dir.path(), {}, context).bytes_read == 0);
  }
  CHECK(context.warnings().empty());
}

TEST_CASE("a budget takes the set used last, and whole files only") {
  const SampleCache cache;
  for (const auto& [memory, files, bytes] : {std::tuple{3500, 2, 3000}, {1500, 1, 1000}, {999, 0, 0}}) {
    CAPTURE(memory);
    Context context;
    const CacheWarmResult result = warm(cache.dir.path(), memory, context);
    CHECK(result.budget_bytes == static_cast<std::uint64_t>(memory));
    CHECK(result.files_warmed == static_cast<std::uint64_t>(files));
    CHECK(result.bytes_warmed == static_cast<std::uint64_t>(bytes));
    CHECK(warned(context, "budget_reached"));
  }
}

TEST_CASE("files that somebody removed are passed over") {
  const SampleCache cache;
  std::filesystem::remove(cache.dir.path("old/1.tar"));
  Context context;
  CHECK(warm(cache.dir.path(), {}, context).bytes_warmed == 3000);
}

TEST_CASE("it ends when asked to stop") {
  const SampleCache cache;
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  CHECK(failure_of([&] { warm(cache.dir.path(), {}, context); }) == ErrorCode::cancelled);
}
