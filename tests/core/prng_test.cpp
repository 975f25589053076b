#include "core/prng.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

using shardkit::Prng;

TEST_CASE("the sequence of a seed never changes: shuffles on disk depend on it") {
  Prng prng(0);
  CHECK(prng.next() == 0x99ec5f36cb75f2b4U);
  CHECK(prng.next() == 0xbf6e1f784956452aU);
}

TEST_CASE("below stays below its bound and reaches every value") {
  Prng prng(7);
  std::vector<int> seen(5);
  for (int i = 0; i < 1000; ++i) ++seen.at(prng.below(5));
  for (const int count : seen) CHECK(count > 100);
}

TEST_CASE("shuffle is a permutation and a function of the seed alone") {
  std::vector<int> first(100);
  std::iota(first.begin(), first.end(), 0);
  std::vector<int> second = first;
  Prng a(3);
  Prng b(3);
  shardkit::shuffle(std::span(first), a);
  shardkit::shuffle(std::span(second), b);
  CHECK(first == second);
  CHECK_FALSE(std::is_sorted(first.begin(), first.end()));
  std::sort(first.begin(), first.end());
  CHECK(first.front() == 0);
  CHECK(std::adjacent_find(first.begin(), first.end()) == first.end());
}
