#include "sync/rate_climber.hpp"

#include <algorithm>
#include <functional>

#include <doctest/doctest.h>

using namespace shardkit;
using namespace shardkit::sync;

namespace {

/// The level after so many intervals at which `rate` of the level is measured.
unsigned level_after(RateClimber& climb, int intervals, const std::function<double(unsigned level)>& rate) {
  for (int i = 0; i < intervals; ++i) climb.measured(rate(climb.level()), false);
  return climb.level();
}

}  // namespace

TEST_CASE("as long as more requests move more bytes, there are more of them, up to the most that are allowed") {
  RateClimber climb(4, 100);
  CHECK(climb.level() == 4);
  CHECK(level_after(climb, 60, [](unsigned level) { return 10.0 * level; }) >= 90);
  CHECK(climb.level() <= 100);
}

TEST_CASE("if more requests gain nothing, the level goes back and stays for a while") {
  RateClimber climb(16, 128);
  const auto full = [](unsigned level) { return std::min(level, 20U) * 10.0; };
  const unsigned found = level_after(climb, 8, full);
  CHECK(found >= 16);
  CHECK(found <= 36);
  for (int i = 0; i < 10; ++i) CHECK(level_after(climb, 1, full) == found);
}

TEST_CASE("one that can start no other is left alone") {
  RateClimber climb(1, 1);
  CHECK(level_after(climb, 50, [](unsigned) { return 1.0; }) == 1);
  RateClimber narrow(16, 3);
  CHECK(narrow.level() == 3);
}

TEST_CASE("who is asked for fewer requests sends half, and does not climb for a while") {
  RateClimber climb(32, 128);
  climb.measured(100, true);
  CHECK(climb.level() == 16);
  climb.measured(100, true);
  CHECK(climb.level() == 8);
  CHECK(level_after(climb, 30, [](unsigned level) { return 10.0 * level; }) == 8);
  CHECK(level_after(climb, 60, [](unsigned level) { return 10.0 * level; }) > 8);
  for (int i = 0; i < 20; ++i) climb.measured(100, true);
  CHECK(climb.level() == 1);
}
