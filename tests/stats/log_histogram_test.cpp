#include <limits>

#include <doctest/doctest.h>

#include "stats/latency_histogram.hpp"

using namespace shardkit;
using namespace shardkit::stats;

TEST_CASE("an empty log histogram has no values and no octaves") {
  const LogHistogram histogram;
  CHECK(histogram.count() == 0);
  CHECK(histogram.min() == 0);
  CHECK(histogram.max() == 0);
  CHECK(histogram.quantile(0.5) == 0);
  CHECK(histogram.octaves().empty());
}

TEST_CASE("min and max are exact, and a quantile is within one percent and between them") {
  LogHistogram histogram;
  for (const std::uint64_t value : {1'000'003U, 1'000'001U, 5'000'000U}) histogram.record(value);
  CHECK(histogram.min() == 1'000'001);
  CHECK(histogram.max() == 5'000'000);
  CHECK(histogram.quantile(0.5) == doctest::Approx(1'000'003).epsilon(0.01));
  CHECK(histogram.quantile(0) >= 1'000'001);
  CHECK(histogram.quantile(1) <= 5'000'000);
}

TEST_CASE("octaves count every value once, between powers of two, without gaps") {
  LogHistogram histogram;
  for (const std::uint64_t value : {0U, 1U, 3U, 4U, 7U, 255U, 256U, 511U, 1024U}) histogram.record(value);
  const auto octaves = histogram.octaves();
  REQUIRE(octaves.size() == 12);  // 0, 1, 2-3, 4-7, ..., 1024-2047
  CHECK(octaves[0].to == 0);
  CHECK(octaves[0].count == 1);
  CHECK(octaves[3].from == 4);
  CHECK(octaves[3].to == 7);
  CHECK(octaves[3].count == 2);
  CHECK(octaves[8].count == 1);  // 128-255
  CHECK(octaves[9].count == 2);  // 256-511
  CHECK(octaves[10].count == 0);
  CHECK(octaves[11].count == 1);
}

TEST_CASE("the largest number there is has its octave") {
  LogHistogram histogram;
  histogram.record(std::numeric_limits<std::uint64_t>::max());
  REQUIRE(histogram.octaves().size() == 1);
  CHECK(histogram.octaves()[0].to == std::numeric_limits<std::uint64_t>::max());
  CHECK(histogram.octaves()[0].count == 1);
}

TEST_CASE("log histograms of several threads merge into one") {
  LogHistogram a;
  LogHistogram b;
  a.record(10);
  b.record(2);
  b.record(300);
  a.merge(b);
  a.merge(LogHistogram());
  CHECK(a.count() == 3);
  CHECK(a.min() == 2);
  CHECK(a.max() == 300);
  CHECK(a.quantile(0.5) == 10);
}
