#include "stats/change_points.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "core/prng.hpp"
#include "support/soak.hpp"

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
  for (const ChangePoint& point : change_points(values, Better::higher).points) found.push_back(point.index);
  return found;
}

TEST_CASE("a step is found where it happened, in its direction") {
  const auto slower = change_points(series({{100, 12}, {80, 12}}, 0.02), Better::higher).points;
  REQUIRE(slower.size() == 1);
  CHECK(slower[0].index == 12);
  CHECK(slower[0].change.verdict == ChangeVerdict::regressed);
  const auto faster = change_points(series({{100, 12}, {130, 12}}, 0.02), Better::higher).points;
  REQUIRE(faster.size() == 1);
  CHECK(faster[0].change.verdict == ChangeVerdict::improved);
  CHECK(change_points(series({{100, 12}, {80, 12}}, 0.02), Better::lower).points.at(0).change.verdict ==
        ChangeVerdict::improved);
}

TEST_CASE("several steps are found in order") {
  CHECK(indexes(series({{100, 15}, {70, 15}, {120, 15}}, 0.02)) == std::vector<std::size_t>{15, 30});
}

TEST_CASE("fewer than 9 runs on a side show no change") {
  CHECK(indexes(series({{100, 8}, {50, 30}}, 0.0)).empty());
  CHECK(indexes(series({{100, 30}, {50, 8}}, 0.0)).empty());
  CHECK(indexes(series({{100, 9}, {50, 9}}, 0.01)) == std::vector<std::size_t>{9});
  CHECK(change_points({}, Better::higher).points.empty());
}

TEST_CASE("runs at an end that are too few for a change do not hide one before them") {
  CHECK(indexes(series({{100, 20}, {85, 15}, {42, 5}}, 0.02)) == std::vector<std::size_t>{20});
  CHECK(indexes(series({{42, 5}, {100, 20}, {85, 15}}, 0.02)) == std::vector<std::size_t>{25});
  CHECK(indexes(series({{10, 12}, {100, 12}, {160, 12}, {200, 12}}, 0.02)) == std::vector<std::size_t>{12, 24, 36});
}

constexpr std::uint64_t kUsual = 200;

/// With as many histories by SHARDKIT_SOAK, the printed figures of docs/explain/report.md.
std::uint64_t histories() { return tries(kUsual, 10'000); }

/// 60 runs, each `r` times the deviation of the one before it and new noise.
std::vector<double> dependent(double r, double noise, std::uint64_t seed, double step = 0, double trend = 0) {
  Prng prng(seed);
  std::vector<double> values;
  double state = 0;
  for (int i = 0; i < 60; ++i) {
    state = r * state + noise * prng.normal();
    values.push_back(std::exp(state + (i < 30 ? 0 : step) + trend * i / 59));
  }
  return values;
}

/// Share of histories of which a step or a trend is named.
double named(double r, double noise, double step = 0, double trend = 0) {
  double found = 0;
  for (std::uint64_t seed = 0; seed < histories(); ++seed) {
    const auto changes = change_points(dependent(r, noise, seed, step, trend), Better::higher);
    found += changes.trend || !changes.points.empty() ? 1 : 0;
  }
  const double share = found / static_cast<double>(histories());
  if (histories() > kUsual) {
    MESSAGE("r " << r << ", noise " << noise << ", step " << step << ", trend " << trend << ": named " << share);
  }
  return share;
}

TEST_CASE("runs that depend on each other hide small changes, are rarely taken for one, and show large ones") {
  CHECK(named(0.5, 0.03) <= 0.015);
  CHECK(named(0.5, 0.05) <= 0.015);
  for (const double noise : {0.03, 0.3, 0.5}) CHECK(named(0.9, noise) <= 0.11);
  const double lost = std::log(0.6);
  CHECK(named(0.5, 0.03, lost) >= 0.93);
  CHECK(named(0.5, 0.05, lost) >= 0.86);
}

TEST_CASE("a decline is a trend, of which the total is judged") {
  const double decline = std::log(0.7);
  for (const double noise : {0.02, 0.05}) CHECK(named(0, noise, 0, decline) >= 0.99);
  CHECK(named(0.5, 0.03, 0, decline) >= 0.97);
  const auto found = change_points(dependent(0, 0.02, 1, 0, decline), Better::higher);
  CHECK(found.points.empty());
  CHECK(found.trend.value().verdict == ChangeVerdict::regressed);
  CHECK(found.trend->ratio.value() == doctest::Approx(-0.3).epsilon(0.1));
  CHECK_FALSE(change_points(series({{100, 30}, {60, 30}}, 0.02), Better::higher).trend);
}

TEST_CASE("a run without any rate is lost: the newest regressed, and an older one hides nothing") {
  auto values = series({{100, 20}}, 0.02);
  values.push_back(0);
  CHECK(judge_newest(values, Better::higher).verdict == ChangeVerdict::regressed);
  CHECK(judge_newest(values, Better::higher).ratio == -1);
  values.push_back(100);
  CHECK(judge_newest(values, Better::higher).verdict == ChangeVerdict::pass);
  values = series({{100, 20}, {60, 20}}, 0.02);
  values.insert(values.begin() + 5, 0);
  CHECK(indexes(values) == std::vector<std::size_t>{21});
}

TEST_CASE("times below the floor count as it") {
  auto values = series({{0.0001, 20}, {0.0002, 1}}, 0.02);
  CHECK(judge_newest(values, Better::lower).verdict == ChangeVerdict::regressed);
  CHECK(judge_newest(values, Better::lower, 1, 0.05, 0.001).verdict == ChangeVerdict::pass);
}

TEST_CASE("the newest run is judged by those before it") {
  auto values = series({{100, 32}}, 0.02);
  CHECK(judge_newest(values, Better::higher).verdict == ChangeVerdict::pass);
  values = series({{100, 32}, {50, 8}}, 0.02);
  CHECK(judge_newest(values, Better::higher).verdict == ChangeVerdict::regressed);
  CHECK(judge_newest(values, Better::higher).runs == 8);
  CHECK(judge_newest(values, Better::lower).verdict == ChangeVerdict::improved);
  values = series({{100, 6}, {50, 1}}, 0.02);
  CHECK(judge_newest(values, Better::higher).runs == 1);
  CHECK(judge_newest(series({{100, 3}}, 0.0), Better::higher).verdict == ChangeVerdict::inconclusive);
  for (const double noise : {0.02, 0.05, 0.15}) {
    double alarms = 0;
    const std::uint64_t runs = 5 * histories();
    for (std::uint64_t seed = 0; seed < runs; ++seed) {
      alarms += judge_newest(series({{100, 20}}, noise, seed), Better::higher).verdict == ChangeVerdict::pass ? 0 : 1;
    }
    if (histories() > kUsual)
      MESSAGE("newest run, noise " << noise << ": alarms " << alarms / static_cast<double>(runs));
    CHECK(alarms / static_cast<double>(runs) <= 0.03);
  }
}

TEST_CASE("noise is no change") {
  for (const double noise : {0.02, 0.05, 0.15, 0.3, 0.5}) {
    double alarms = 0;
    for (std::uint64_t seed = 0; seed < histories(); ++seed) {
      alarms += indexes(series({{100, 60}}, noise, seed)).empty() ? 0 : 1;
    }
    if (histories() > kUsual) MESSAGE("noise " << noise << ": marked " << alarms / static_cast<double>(histories()));
    CHECK(alarms / static_cast<double>(histories()) <= 0.01);
  }
}

TEST_CASE("values that are not positive have no ratio") { CHECK(indexes(std::vector<double>(40, 0.0)).empty()); }

}  // namespace
}  // namespace shardkit::stats
