#include "stats/summary.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace shardkit;
using namespace shardkit::stats;

TEST_CASE("nothing, one value, two values") {
  CHECK(summarize({}).median == 0);
  const std::vector<double> one{7};
  CHECK(summarize(one).median == 7);
  CHECK(summarize(one).low == 7);
  CHECK(summarize(one).high == 7);
  const std::vector<double> two{4, 2};
  CHECK(summarize(two).median == 3);
  CHECK(summarize(two).low == 2);
  CHECK(summarize(two).high == 4);
}

TEST_CASE("five values cannot give 95 %: the interval is their range") {
  const std::vector<double> values{5, 1, 4, 2, 3};
  CHECK(summarize(values).median == 3);
  CHECK(summarize(values).low == 1);
  CHECK(summarize(values).high == 5);
}

TEST_CASE("the interval of nine values runs from the second to the eighth") {
  // P(2nd < median < 8th) = 1 - 2 * (1 + 9) / 512 = 0.961; the 3rd to the 7th would be 0.820.
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8, 9};
  CHECK(summarize(values).median == 5);
  CHECK(summarize(values).low == 2);
  CHECK(summarize(values).high == 8);
}

TEST_CASE("the interval of twenty values runs from the sixth to the fifteenth") {
  std::vector<double> values;  // table value for n = 20
  for (int i = 20; i >= 1; --i) values.push_back(i);
  CHECK(summarize(values).low == 6);
  CHECK(summarize(values).high == 15);
  CHECK(summarize(values).median == 10.5);
}

TEST_CASE("the interval narrows as values come, also past those whose probabilities are too small for a double") {
  struct Row {
    int values, low, high;
  };
  // By exact binomial sums; 2000 slices are a run of 200 s.
  for (const Row& row : {Row{100, 40, 61}, Row{1000, 469, 532}, Row{1075, 505, 571}, Row{2000, 956, 1045}}) {
    std::vector<double> values;
    for (int i = 1; i <= row.values; ++i) values.push_back(i);
    CHECK(summarize(values).low == row.low);
    CHECK(summarize(values).high == row.high);
  }
}

TEST_CASE("a constant rate does not drift, a line drifts by its rise over its mean") {
  const std::vector<double> constant(10, 5.0);
  CHECK(relative_drift(constant) == doctest::Approx(0));
  const std::vector<double> rising{9, 10, 10, 11};  // slope 0.6 a slice, 3 slices apart, mean 10
  CHECK(relative_drift(rising) == doctest::Approx(0.18));
  const std::vector<double> falling{11, 10, 10, 9};
  CHECK(relative_drift(falling) == doctest::Approx(-0.18));
}

TEST_CASE("too few slices, or none that did anything, show no drift") {
  const std::vector<double> few{1, 2, 3};
  CHECK(relative_drift(few) == 0);
  const std::vector<double> idle(8, 0.0);
  CHECK(relative_drift(idle) == 0);
}
