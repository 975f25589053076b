#include "dataset/sharding/shard_cutter.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace shardkit;
using namespace shardkit::dataset;

namespace {

using Sizes = std::vector<std::uint64_t>;

ShardCut cut(const Sizes& sizes, const ShardingOptions& options) {
  return cut_shards(
      sizes.size(), [&](std::uint64_t i) { return sizes[i]; }, options);
}

ShardingOptions with(std::optional<std::uint64_t> samples, std::optional<std::uint64_t> size) {
  ShardingOptions options;
  options.samples = samples;
  options.size = size;
  return options;
}

}  // namespace

TEST_CASE("a shard is closed at --samples") { CHECK(cut(Sizes(7, 1024), with(3, {})).samples == Sizes{3, 3, 1}); }

TEST_CASE("a shard never passes --size, the end of the archive included") {
  CHECK(cut(Sizes(4, 1024), with({}, 1024 + 2 * 1024)).samples == Sizes{2, 2});
  CHECK(cut(Sizes(4, 1024), with({}, 1024 + 2 * 1024 - 1)).samples == Sizes{1, 1, 1, 1});
}

TEST_CASE("a sample over --size gets a shard of its own") {
  const ShardCut result = cut({1024, 9000, 1024, 1024}, with({}, 4096));
  CHECK(result.samples == Sizes{1, 1, 2});
  CHECK(result.oversized == 1);
}

TEST_CASE("either limit alone lifts the other's default") {
  CHECK(cut(Sizes(6000, 1024), with({}, 1U << 30U)).samples == Sizes{6000});
  CHECK(cut(Sizes(3, 200U << 20U), with(3, {})).samples == Sizes{3});
  CHECK(cut(Sizes(6000, 1024), with({}, {})).samples == Sizes{5000, 1000});
  CHECK(cut(Sizes(3, 200U << 20U), with({}, {})).samples == Sizes{1, 1, 1});
}

TEST_CASE("--shards is balanced within one sample and never empty") {
  ShardingOptions options;
  options.shards = 4;
  CHECK(cut(Sizes(10, 1024), options).samples == Sizes{3, 3, 2, 2});
  CHECK_THROWS_AS(cut(Sizes(3, 1024), options), Error);
}

TEST_CASE("--multiple-of rounds the number of shards up") {
  ShardingOptions options = with(3, {});
  options.multiple_of = 4;
  CHECK(cut(Sizes(10, 1024), options).samples == Sizes{3, 3, 2, 2});
  CHECK(cut(Sizes(13, 1024), options).samples.size() == 8);
  options = {};
  options.shards = 5;
  options.multiple_of = 4;
  CHECK_THROWS_AS(check(options), Error);
  options.shards = 8;
  CHECK_NOTHROW(check(options));
  CHECK(cut(Sizes(16, 1024), options).samples == Sizes(8, 2));
}

TEST_CASE("--multiple-of keeps to --size where balancing alone would pass it") {
  ShardingOptions options = with({}, 1024 + 4096);
  options.multiple_of = 2;
  const ShardCut result = cut({4096, 4096, 1024, 1024, 1024, 1024}, options);
  CHECK(result.samples.size() % 2 == 0);
  CHECK(std::accumulate(result.samples.begin(), result.samples.end(), std::uint64_t{0}) == 6);
  CHECK(result.samples.front() == 1);
}

TEST_CASE("one sample over --size does not make --multiple-of cut all shards small") {
  Sizes sizes(2000, 1024);
  sizes[700] = 1U << 20U;
  ShardingOptions options = with(100, 200 * 1024);
  options.multiple_of = 8;
  const ShardCut result = cut(sizes, options);
  CHECK(result.samples.size() == 24);  // 22 at the limits
  CHECK(result.oversized == 1);
  CHECK(std::accumulate(result.samples.begin(), result.samples.end(), std::uint64_t{0}) == 2000);
  CHECK(*std::ranges::min_element(result.samples) >= 1);
  CHECK(*std::ranges::max_element(result.samples) <= 100);
}

TEST_CASE("--multiple-of balances where a sample over --size is alone in its shard, else keeps it alone") {
  ShardingOptions options = with({}, 1024 + 3 * 1024);
  options.multiple_of = 2;
  CHECK(cut({1024, 1024, 1024, 1024, 1024, 1024, 9000}, options).samples == Sizes{2, 2, 2, 1});
  CHECK(cut({9000, 1024, 1024, 1024, 1024, 1024, 1024}, options).samples == Sizes{1, 2, 1, 3});
}

TEST_CASE("numbers that no set can have are refused") {
  ShardingOptions options;
  options.multiple_of = std::numeric_limits<std::uint64_t>::max();
  CHECK_THROWS_AS(check(options), Error);
  options = {};
  options.shards = std::numeric_limits<std::uint64_t>::max();
  CHECK_THROWS_AS(check(options), Error);
  options = {};
  options.size = 0;
  CHECK_THROWS_AS(check(options), Error);
}
