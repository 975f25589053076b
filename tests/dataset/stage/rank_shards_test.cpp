#include "dataset/stage/rank_shards.hpp"

#include <limits>

#include <doctest/doctest.h>

#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::dataset;
using shardkit_test::Failure;
using shardkit_test::failure_of;

namespace {

using Shards = std::vector<std::size_t>;

/// That many shards of ten samples each.
std::vector<std::uint64_t> tens(std::size_t shards) { return std::vector<std::uint64_t>(shards, 10); }

Shards of(const std::vector<std::uint64_t>& set, const Ranks& ranks, RankSplit split) {
  return shards_of_ranks(set.size(), set, ranks, split).shards;
}

std::string warning_of(const std::vector<std::uint64_t>& set, const Ranks& ranks, RankSplit split) {
  const std::vector<Finding> warnings = shards_of_ranks(set.size(), set, ranks, split).warnings;
  REQUIRE(warnings.size() <= 1);
  return warnings.empty() ? "" : warnings[0].code;
}

Failure parsing(const std::optional<std::string>& rank, std::optional<std::uint64_t> world) {
  return failure_of([&] { parse_ranks(rank, world); });
}

}  // namespace

TEST_CASE("--rank is one rank or those of a node, from 0") {
  CHECK(parse_ranks({}, {}) == std::nullopt);
  CHECK(parse_ranks("0", 1) == Ranks{0, 0, 1});
  CHECK(parse_ranks("3", 4) == Ranks{3, 3, 4});
  CHECK(parse_ranks("8-15", 16) == Ranks{8, 15, 16});
  CHECK(parse_ranks("5-5", 16) == Ranks{5, 5, 16});
}

TEST_CASE("--rank and --world need each other") {
  CHECK(parsing("3", {}) == ErrorCode::usage);
  CHECK(parsing("3", {}).says("--rank needs --world"));
  CHECK(parsing({}, 4) == ErrorCode::usage);
  CHECK(parsing({}, 4).says("--world needs --rank"));
}

TEST_CASE("ranks that are not there are refused with what is wrong") {
  for (const char* bad : {"", "-", "3-", "-3", "a", "1-2-3", "1,2", " 1", "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(parsing(bad, 4) == ErrorCode::usage);
    CHECK(parsing(bad, 4).says("expected R"));
  }
  CHECK(parsing("4", 4).says("the last is 3"));
  CHECK(parsing("0-4", 4).says("the last is 3"));
  CHECK(parsing("2-1", 4).says("less than the first"));
}

TEST_CASE("webdataset deals out shards in turn, and a node needs those of all its ranks") {
  CHECK(of(tens(7), {0, 0, 3}, RankSplit::webdataset) == Shards{0, 3, 6});
  CHECK(of(tens(7), {2, 2, 3}, RankSplit::webdataset) == Shards{2, 5});
  CHECK(of(tens(9), {2, 3, 4}, RankSplit::webdataset) == Shards{2, 3, 6, 7});
  CHECK(of(tens(3), {0, 2, 3}, RankSplit::webdataset) == Shards{0, 1, 2});
  CHECK(warning_of(tens(9), {2, 3, 4}, RankSplit::webdataset) == "loader_setting");
}

TEST_CASE("a rank without a shard is refused where webdataset would stop") {
  const Failure failure = failure_of([] { of(tens(3), {2, 3, 8}, RankSplit::webdataset); });
  CHECK(failure == ErrorCode::usage);
  CHECK(failure.says("rank 3 of 8 gets no shard"));
  CHECK(failure.says("3 shards"));
  CHECK(failure.says("--multiple-of 8"));
  CHECK(of(tens(3), {1, 2, 8}, RankSplit::webdataset) == Shards{1, 2});
  CHECK(failure_of([] { of({}, {0, 0, 1}, RankSplit::webdataset); }) == ErrorCode::usage);
}

TEST_CASE("DALI divides the samples, so neighbors may share a shard") {
  CHECK(of(tens(3), {0, 0, 2}, RankSplit::dali) == Shards{0, 1});
  CHECK(of(tens(3), {1, 1, 2}, RankSplit::dali) == Shards{1, 2});
  CHECK(of(tens(4), {1, 1, 2}, RankSplit::dali) == Shards{2, 3});
  CHECK(of(tens(4), {1, 2, 4}, RankSplit::dali) == Shards{1, 2});
  CHECK(of({5, 100, 3}, {0, 0, 27}, RankSplit::dali) == Shards{0});
  CHECK(of({5, 100, 3}, {1, 1, 27}, RankSplit::dali) == Shards{0, 1});  // samples 4 to 7
  CHECK(of({5, 100, 3}, {26, 26, 27}, RankSplit::dali) == Shards{1, 2});
  CHECK(of({5, 0, 5}, {0, 1, 3}, RankSplit::dali) == Shards{0, 2});
}

TEST_CASE("DALI's division is exact for sets beyond what the product of samples and ranks can hold") {
  const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max() / 2;
  CHECK(of({huge, huge}, {999, 999, 1000}, RankSplit::dali) == Shards{1});
  CHECK(of({huge, huge}, {499, 499, 1000}, RankSplit::dali) == Shards{0});
}

TEST_CASE("DALI's readers have to stick to their shard, which a warning says") {
  CHECK(warning_of(tens(4), {0, 0, 2}, RankSplit::dali) == "loader_setting");
  CHECK(warning_of(tens(4), {0, 1, 2}, RankSplit::dali) == "");  // one node reads everything
}

TEST_CASE("fewer samples than ranks are refused as DALI does") {
  for (const Ranks& ranks : {Ranks{0, 0, 3}, Ranks{0, 2, 3}}) {
    const Failure failure = failure_of([&] { of({1, 1}, ranks, RankSplit::dali); });
    CHECK(failure == ErrorCode::usage);
    CHECK(failure.says("2 samples cannot be divided among 3 ranks"));
  }
}

TEST_CASE("Hugging Face datasets deals out shards in turn where they are a multiple of the ranks") {
  CHECK(of(tens(6), {0, 0, 3}, RankSplit::hf) == Shards{0, 3});
  CHECK(of(tens(8), {2, 3, 4}, RankSplit::hf) == Shards{2, 3, 6, 7});
  CHECK(warning_of(tens(6), {0, 0, 3}, RankSplit::hf) == "loader_setting");
  CHECK(warning_of(tens(6), {0, 2, 3}, RankSplit::hf) == "");
}

TEST_CASE("otherwise every rank of Hugging Face datasets opens all shards, which a warning says") {
  for (const std::size_t count : {7U, 2U}) {
    CHECK(of(tens(count), {1, 1, 3}, RankSplit::hf).size() == count);
    CHECK(warning_of(tens(count), {1, 1, 3}, RankSplit::hf) == "all_shards_needed");
  }
}
