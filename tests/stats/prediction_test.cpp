#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "noise.hpp"
#include "stats/comparison.hpp"
#include "stats/summary.hpp"

using namespace shardkit;
using namespace shardkit::stats;
using namespace shardkit::test;
using doctest::Approx;

namespace {

std::vector<double> draw(const Noise& noise, std::size_t count, Prng& prng) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(1000 * (1 + noise.draw(prng)));
  return values;
}

/// How often the median of a second run of `count` repetitions lies in the interval of the first, where the level of
/// each run is another one by a normal deviation of `drift`.
double coverage(const Noise& noise, std::size_t count, int runs, double drift = 0) {
  Prng prng(11);
  int within = 0;
  const auto measured = [&] {
    const double level = 1 + drift * prng.normal();
    std::vector<double> values = draw(noise, count, prng);
    for (double& value : values) value *= level;
    return values;
  };
  for (int run = 0; run < runs; ++run) {
    const Interval interval = prediction_interval(measured()).value();
    const double again = summarize(measured()).median;
    within += again >= interval.low && again <= interval.high ? 1 : 0;
  }
  return static_cast<double>(within) / runs;
}

}  // namespace

TEST_CASE("one value predicts nothing") {
  CHECK_FALSE(prediction_interval({}));
  const std::vector<double> one{3};
  CHECK_FALSE(prediction_interval(one));
}

TEST_CASE("nine to twelve values predict their whole range, more cut extremes off") {
  std::vector<double> values;
  for (int i = 1; i <= 9; ++i) values.push_back(i);
  CHECK(prediction_interval(values)->low == 1);  // the 5th of 9 new ones is below all old ones in 1.5 % of cases
  CHECK(prediction_interval(values)->high == 9);
  for (int i = 10; i <= 21; ++i) values.push_back(i);
  CHECK(prediction_interval(values)->low > 3);
  CHECK(prediction_interval(values)->low < 7);
  CHECK(prediction_interval(values)->high == 22 - prediction_interval(values)->low);
}

TEST_CASE("few values predict by Student's t, and never less than their range") {
  const std::vector<double> jumps{10, 10, 10, 10, 10, 10, 10, 20};
  CHECK(prediction_interval(jumps)->high == 20);
  // Deviation 1, median 10: 4.3027 * sqrt(pi / 3) to each side.
  const std::vector<double> three{9, 10, 11};
  CHECK(prediction_interval(three)->low == Approx(10 - 4.3027 * std::sqrt(3.14159265 / 3)));
  CHECK(prediction_interval(three)->high == Approx(10 + 4.3027 * std::sqrt(3.14159265 / 3)));
}

TEST_CASE("rates and times are not predicted to be below 0, however much they differ") {
  const std::vector<double> wild{1, 20, 300};
  CHECK(prediction_interval(wild)->low == 0);
  const std::vector<double> below{-1, 20, 300};
  CHECK(prediction_interval(below)->low < -300);
}

TEST_CASE("repetitions that hardly differ still predict 3 % to each side: runs minutes apart differ by more") {
  for (const std::size_t count : {2U, 5U, 10U, 30U}) {
    const std::vector<double> alike(count, 500.0);
    CHECK(prediction_interval(alike)->low == Approx(485));
    CHECK(prediction_interval(alike)->high == Approx(515));
  }
  const std::vector<double> none(10, 0.0);
  CHECK(prediction_interval(none)->low == 0);
  CHECK(prediction_interval(none)->high == 0);
}

TEST_CASE(
    "runs whose level drifts by 1 % between them are within it in 19 of 20 cases, however alike their repetitions "
    "are") {
  const Noise quiet{"half a percent", [](Prng& prng) { return 0.005 * prng.normal(); }};
  for (const std::size_t count : {2U, 5U, 10U, 20U}) {
    CAPTURE(count);
    CHECK(coverage(quiet, count, 4000, 0.01) >= 0.945);
  }
}

TEST_CASE(
    "the same run again has its median in the interval in 19 of 20 cases, for every noise and number of repetitions") {
  for (const Noise& noise : noises()) {
    for (const std::size_t count : {2U, 3U, 5U, 8U, 9U, 10U, 20U}) {
      CAPTURE(noise.name);
      CAPTURE(count);
      // Three repetitions may miss that there are two modes at all. Less a deviation and a half of so many draws.
      CHECK(coverage(noise, count, 4000) >= (count < 6 ? 0.925 : 0.945));
    }
  }
}
