#include <vector>

#include <doctest/doctest.h>

#include "stats/summary.hpp"

using namespace shardkit;
using namespace shardkit::stats;

namespace {

std::size_t knee(const std::vector<double>& rates) { return knee_of(rates); }
bool levelled_off(const std::vector<double>& rates) { return has_levelled_off(rates); }

}  // namespace

TEST_CASE("the knee is the first level that gives 95 % of the best") {
  CHECK(knee({100}) == 0);
  CHECK(knee({100, 200, 400}) == 2);
  CHECK(knee({100, 200, 380, 400, 390}) == 2);
  CHECK(knee({100, 200, 379, 400, 390}) == 3);
  CHECK(knee({500, 400, 300}) == 0);
  CHECK(knee({0, 0}) == 0);
}

TEST_CASE("the curve has leveled off when two levels in a row gain less than 5 %") {
  CHECK_FALSE(levelled_off({100}));
  CHECK_FALSE(levelled_off({100, 100}));
  CHECK(levelled_off({100, 100, 100}));
  CHECK(levelled_off({100, 104, 104}));
  CHECK_FALSE(levelled_off({100, 200, 208}));
  CHECK_FALSE(levelled_off({100, 104, 110}));
  CHECK_FALSE(levelled_off({100, 90, 210}));
  CHECK(levelled_off({100, 200, 150, 204}));
}
