#include <doctest/doctest.h>

#include "dataset/verify/set_checker.hpp"

using namespace shardkit;
using namespace shardkit::dataset;

TEST_CASE("hashes added more than once come out once, in order") {
  KeyTable table;
  table.add({~0ULL, 5, 7});
  table.add({5, 6, ~0ULL, 5});
  const auto repeated = table.repeated(10);
  CHECK(repeated.hashes == std::vector<std::uint64_t>{5, ~0ULL});
  CHECK(repeated.total == 2);
}

TEST_CASE("those above the limit are counted only") {
  KeyTable table;
  for (int i = 0; i < 2; ++i) table.add({1, 2, 3, 4});
  const auto repeated = table.repeated(3);
  CHECK(repeated.hashes == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(repeated.total == 4);
}

TEST_CASE("no hash twice is nothing") {
  KeyTable table;
  table.add({1, 2, 3});
  CHECK(table.repeated(3).total == 0);
}
