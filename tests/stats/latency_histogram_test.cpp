#include "stats/latency_histogram.hpp"

#include <limits>

#include <doctest/doctest.h>

using namespace shardkit;
using namespace shardkit::stats;
using std::chrono::nanoseconds;

TEST_CASE("an empty histogram answers 0") {
  const LatencyHistogram histogram;
  CHECK(histogram.count() == 0);
  CHECK(histogram.quantile(0.5) == 0);
  CHECK(histogram.quantiles().max == 0);
}

TEST_CASE("small values are exact") {
  LatencyHistogram histogram;
  for (int ns = 1; ns <= 100; ++ns) histogram.record(nanoseconds(ns));
  CHECK(histogram.quantile(0.5) == doctest::Approx(50e-9));
  CHECK(histogram.quantile(0.9) == doctest::Approx(90e-9));
  CHECK(histogram.quantile(0.99) == doctest::Approx(99e-9));
  CHECK(histogram.quantile(0) == doctest::Approx(1e-9));
  CHECK(histogram.quantile(1) == doctest::Approx(100e-9));
}

TEST_CASE("every magnitude is off by less than one percent, and max is exact") {
  for (std::int64_t ns = 1; ns < std::numeric_limits<std::int64_t>::max() / 3; ns = ns * 3 + 1) {
    LatencyHistogram histogram;
    histogram.record(nanoseconds(ns));
    histogram.record(nanoseconds(std::numeric_limits<std::int64_t>::max()));
    CHECK(histogram.quantile(0.5) == doctest::Approx(static_cast<double>(ns) * 1e-9).epsilon(0.0099));
  }
  LatencyHistogram histogram;
  histogram.record(nanoseconds(123'456'789));
  CHECK(histogram.quantiles().max == doctest::Approx(0.123456789).epsilon(1e-12));
  CHECK(histogram.quantiles().p99 <= histogram.quantiles().max);
}

TEST_CASE("histograms of several threads merge into one") {
  LatencyHistogram a;
  LatencyHistogram b;
  for (int i = 0; i < 90; ++i) a.record(nanoseconds(1000));
  for (int i = 0; i < 10; ++i) b.record(nanoseconds(1'000'000));
  a.merge(b);
  CHECK(a.count() == 100);
  CHECK(a.quantile(0.9) == doctest::Approx(1e-6).epsilon(0.01));
  CHECK(a.quantile(0.91) == doctest::Approx(1e-3).epsilon(0.01));
}

TEST_CASE("a clock that steps back counts as no time") {
  LatencyHistogram histogram;
  histogram.record(nanoseconds(-5));
  CHECK(histogram.count() == 1);
  CHECK(histogram.quantiles().max == 0);
}
