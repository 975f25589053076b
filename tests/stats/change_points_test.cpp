#include "stats/change_points.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "core/prng.hpp"

namespace shardkit::stats {
namespace {

/// Runs of a node around the levels of its parts, with normal noise.
std::vector<double> series(std::vector<std::pair<double, std::size_t>> parts, double noise, std::uint64_t seed = 1) {
  Prng prng(seed);
  std::vector<double> values;
  for (const auto& [level, count] : parts) {
    for (std::size_t i = 0; i < count; ++i) values.push_back(level * std::exp(noise * prng.normal()));
  }
  return values;
}

std::vector<std::size_t> indexes(std::span<const double> values) {
  std::vector<std::size_t> found;
  for (const ChangePoint& point : change_points(values, Better::higher)) found.push_back(point.index);
  return found;
}

TEST_CASE("a step is found where it happened, in its direction") {
  const auto slower = change_points(series({{100, 12}, {80, 12}}, 0.02), Better::higher);
  REQUIRE(slower.size() == 1);
  CHECK(slower[0].index == 12);
  CHECK(slower[0].change.verdict == ChangeVerdict::regressed);
  const auto faster = change_points(series({{100, 12}, {130, 12}}, 0.02), Better::higher);
  REQUIRE(faster.size() == 1);
  CHECK(faster[0].change.verdict == ChangeVerdict::improved);
  CHECK(change_points(series({{100, 12}, {80, 12}}, 0.02), Better::lower).at(0).change.verdict ==
        ChangeVerdict::improved);
}

TEST_CASE("several steps are found in order") {
  CHECK(indexes(series({{100, 15}, {70, 15}, {120, 15}}, 0.02)) == std::vector<std::size_t>{15, 30});
}

TEST_CASE("fewer than 9 runs on a side show no change") {
  CHECK(indexes(series({{100, 8}, {50, 30}}, 0.0)).empty());
  CHECK(indexes(series({{100, 30}, {50, 8}}, 0.0)).empty());
  CHECK(indexes(series({{100, 9}, {50, 9}}, 0.01)) == std::vector<std::size_t>{9});
  CHECK(change_points({}, Better::higher).empty());
}

TEST_CASE("noise is no change") {
  for (const double noise : {0.02, 0.05, 0.15}) {
    std::size_t alarms = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) alarms += indexes(series({{100, 60}}, noise, seed)).size();
    CAPTURE(noise);
    CHECK(alarms <= 2);
  }
}

TEST_CASE("values that are not positive have no ratio") { CHECK(indexes(std::vector<double>(40, 0.0)).empty()); }

}  // namespace
}  // namespace shardkit::stats
