#include "bench/timing/timed_run.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace shardkit;

TEST_CASE("a rate of less than a second has no interval: of so few slices it would be their range") {
  Timing timing;
  timing.rates = {0, 10, 11, 12, 13, 14, 15, 16, 17};
  CHECK_FALSE(rate_interval(timing));
  timing.rates.push_back(18);
  REQUIRE(rate_interval(timing));
  CHECK(rate_interval(timing)->low == 10);  // without the one that was slowest
  CHECK(rate_interval(timing)->high == 17);
}
