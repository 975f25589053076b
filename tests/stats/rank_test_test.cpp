#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "stats/comparison.hpp"

using namespace shardkit;
using namespace shardkit::stats;
using doctest::Approx;

namespace {

std::vector<double> numbers(double from, double step, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(from + step * i);
  return values;
}

}  // namespace

TEST_CASE("the exact p value is the share of all orders that are as uneven") {
  const std::vector<double> low{1, 2, 3};
  const std::vector<double> high{4, 5, 6};
  CHECK(mann_whitney_p(low, high) == Approx(2.0 / 20));  // two of the C(6, 3) orders
  CHECK(mann_whitney_p(high, low) == Approx(2.0 / 20));
  const std::vector<double> mixed{1, 3, 5};
  const std::vector<double> others{2, 4, 6};
  CHECK(mann_whitney_p(mixed, others) == Approx(14.0 / 20));  // U = 3: orders with U of 0, 1, 2, 3 are 1, 1, 2, 3
  // Ten against ten, all apart: 2 / C(20, 10).
  CHECK(mann_whitney_p(numbers(0, 1, 10), numbers(10, 1, 10)) == Approx(2.0 / 184756));
}

TEST_CASE("critical values of the published tables: two-sided 5 % at U of 23 for ten a side, 17 for nine, 2 for five") {
  struct Row {
    int n, critical;
  };
  for (const Row& row : {Row{10, 23}, Row{9, 17}, Row{5, 2}}) {
    // `critical` values of base are below one more value of changed each; the rest is apart.
    const auto p_of = [&](int u) {
      std::vector<double> base = numbers(0, 1, row.n);
      std::vector<double> changed;
      for (int left = u, i = 0; i < row.n; ++i) {
        const int beaten = std::min(left, row.n);  // how many of base lie below this value
        changed.push_back(beaten - 0.5 + 0.01 * i);
        left -= beaten;
      }
      return mann_whitney_p(base, changed);
    };
    CAPTURE(row.n);
    CHECK(p_of(row.critical) <= 0.05);
    CHECK(p_of(row.critical + 1) > 0.05);
  }
}

TEST_CASE("ties and many values take the normal approximation, corrected for ties and continuity") {
  // By hand: U = 1.5 of 16; groups of 2 and 3 equal values; variance 4 * 4 / 12 * (9 - 30 / 56), distance 6.5 - 0.5.
  const std::vector<double> base{1, 2, 2, 3};
  const std::vector<double> changed{3, 3, 4, 5};
  const double z = (8 - 1 - 0.5) / std::sqrt(16.0 / 12 * (9 - 30.0 / 56));
  CHECK(mann_whitney_p(base, changed) == Approx(std::erfc(z / std::sqrt(2.0))));
  // 60 a side lie just beyond what is counted exactly: a p value in the middle is the same to a few percent.
  const double p = mann_whitney_p(numbers(0, 1, 60), numbers(8.5, 1, 60));
  const double exact_like = mann_whitney_p(numbers(0, 1, 50), numbers(7.5, 1, 50));
  CHECK(p == Approx(0.05).epsilon(0.4));
  CHECK(exact_like == Approx(0.05).epsilon(0.6));
}

TEST_CASE("equal values and empty sides show nothing") {
  const std::vector<double> same(10, 3.0);
  CHECK(mann_whitney_p(same, same) == 1);
  CHECK(mann_whitney_p({}, same) == 1);
  CHECK_FALSE(rank_shift({}, same, 0.025));
  const Shift shift = rank_shift(same, same, 0.025).value();
  CHECK(shift.estimate == 0);
  CHECK(shift.low == 0);
  CHECK(shift.high == 0);
}

TEST_CASE("the shift is the median of all differences, its interval ends at ranks of the U test") {
  const std::vector<double> base = numbers(1, 1, 5);
  const std::vector<double> changed = numbers(11, 1, 5);
  // 95 % for five a side: U is 2 or less in 2 * 4 of 252 orders (3.2 %), so the ends are the 3rd of 25 from each side.
  const Shift shift = rank_shift(base, changed, 0.025).value();
  CHECK(shift.estimate == 10);
  CHECK(shift.low == 7);
  CHECK(shift.high == 13);
}

TEST_CASE("one wild value moves the shift by a rank only") {
  const std::vector<double> base = numbers(100, 1, 10);
  std::vector<double> changed = numbers(90, 1, 10);
  const double calm = rank_shift(base, changed, 0.01)->estimate;
  changed.back() = 1e9;
  CHECK(rank_shift(base, changed, 0.01)->estimate == Approx(calm).epsilon(0.2));
}

TEST_CASE("too few values have no interval of that confidence") {
  CHECK_FALSE(rank_shift(numbers(0, 1, 3), numbers(5, 1, 3), 0.025));  // the least tail of three a side is 5 %
  CHECK(rank_shift(numbers(0, 1, 4), numbers(5, 1, 4), 0.025));        // 1 / 70
  CHECK_FALSE(rank_shift(numbers(0, 1, 1), numbers(5, 1, 1), 0.025));
}

TEST_CASE("intervals of many values go on where the exact ones end") {
  const Shift exact = rank_shift(numbers(0, 1, 50), numbers(0.5, 1, 50), 0.025).value();
  const Shift approximate = rank_shift(numbers(0, 1, 51), numbers(0.5, 1, 51), 0.025).value();
  CHECK(approximate.low == Approx(exact.low).epsilon(0.1));
  CHECK(approximate.high == Approx(exact.high).epsilon(0.1));
}
