#include "bench/timing/timed_run.hpp"

#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace shardkit;
using namespace shardkit::bench;

namespace {

Timing timing_of(std::vector<double> rates) {
  Timing timing;
  timing.rates = std::move(rates);
  return timing;
}

const std::vector<double> kNine(9, 100.0);
const std::vector<double> kEven(10, 100.0);
const std::vector<double> kRising{100, 110, 120, 130, 140, 150, 160, 170, 180, 190};

}  // namespace

TEST_CASE("a run that is cut has the time and the slices until then") {
  Timing timing{3.05, 1, std::vector<double>(30, 7.0)};
  cut(timing, 2.55);
  CHECK(timing.seconds == 2.55);
  CHECK(timing.rates.size() == 25);
  cut(timing, 9);
  CHECK(timing.seconds == 2.55);
  CHECK(timing.rates.size() == 25);
}

TEST_CASE("a rate of less than a second has no interval: of so few slices it would be their range") {
  Timing timing = timing_of({0, 10, 11, 12, 13, 14, 15, 16, 17});
  CHECK_FALSE(rate_interval(timing, 13));
  timing.rates.push_back(18);
  REQUIRE(rate_interval(timing, 13));
  CHECK(rate_interval(timing, 13)->low == 10);  // without the one that was slowest
  CHECK(rate_interval(timing, 13)->high == 17);
}

TEST_CASE(
    "a rate has no interval that it is not in: of a run fast for a part and slow for another it is far from the "
    "slices' median") {
  const Timing timing = timing_of({10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 90});
  CHECK(rate_interval(timing, 10));
  CHECK_FALSE(rate_interval(timing, 200.0 / 12));
}

TEST_CASE("whether a rate is steady is not known of less than a second") {
  CHECK_FALSE(is_steady(Timing{}).has_value());
  CHECK_FALSE(is_steady(timing_of(kNine)).has_value());
  CHECK(is_steady(timing_of(kEven)) == true);
  CHECK(is_steady(timing_of(kRising)) == false);
  CHECK(is_steady(timing_of({kRising.rbegin(), kRising.rend()})) == false);
}

TEST_CASE("a rate that drifts up or down by more than the limit is not steady, by less it is") {
  const auto drifting = [](double drift) {
    std::vector<double> rates;
    for (int i = 0; i < 20; ++i) rates.push_back(100 * (1 + drift * i / 19));
    return rates;
  };
  for (const double drift : {0.5, 0.2, -0.2, -0.5}) CHECK(is_steady(timing_of(drifting(drift))) == false);
  for (const double drift : {0.01, 0.0, -0.01}) CHECK(is_steady(timing_of(drifting(drift))) == true);
}
