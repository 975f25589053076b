#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "core/prng.hpp"
#include "staging/file_copy.hpp"

using namespace shardkit;
using namespace shardkit::staging;

namespace {

using Ranges = std::vector<ByteRange>;

RangeSet set_of(const Ranges& ranges) {
  RangeSet set;
  for (const ByteRange& range : ranges) set.add(range);
  return set;
}

}  // namespace

TEST_CASE("ranges that meet or overlap become one") {
  CHECK(set_of({{0, 5}, {5, 9}}).ranges() == Ranges{{0, 9}});
  CHECK(set_of({{5, 9}, {0, 5}}).ranges() == Ranges{{0, 9}});
  CHECK(set_of({{0, 2}, {4, 6}, {8, 9}, {1, 8}}).ranges() == Ranges{{0, 9}});
  CHECK(set_of({{3, 4}, {0, 9}}).ranges() == Ranges{{0, 9}});
  CHECK(set_of({{0, 2}, {3, 4}}).ranges() == Ranges{{0, 2}, {3, 4}});
  CHECK(set_of({{7, 7}}).ranges().empty());
}

TEST_CASE("what is removed leaves the rest of its range") {
  RangeSet set = set_of({{0, 10}, {20, 30}});
  set.remove({5, 25});
  CHECK(set.ranges() == Ranges{{0, 5}, {25, 30}});
  set.remove({3, 3});
  CHECK(set.ranges() == Ranges{{0, 5}, {25, 30}});
  set.remove({1, 2});
  CHECK(set.ranges() == Ranges{{0, 1}, {2, 5}, {25, 30}});
  set.remove({0, 100});
  CHECK(set.ranges().empty());
}

TEST_CASE("the first gap and the end of a run tell what to fetch and what to hash next") {
  const RangeSet set = set_of({{0, 4}, {6, 8}});
  CHECK(set.first_gap(10) == ByteRange{4, 6});
  CHECK(set.first_gap(5) == ByteRange{4, 5});
  CHECK_FALSE(set.first_gap(4));
  CHECK(set_of({{2, 4}}).first_gap(10) == ByteRange{0, 2});
  CHECK(RangeSet().first_gap(10) == ByteRange{0, 10});
  CHECK_FALSE(RangeSet().first_gap(0));
  CHECK(set.end_of_run(0) == 4);
  CHECK(set.end_of_run(3) == 4);
  CHECK(set.end_of_run(4) == 4);
  CHECK(set.end_of_run(6) == 8);
  CHECK(set.total() == 6);
}

TEST_CASE("any order of additions and removals gives what marking single bytes gives") {
  Prng prng(7);
  constexpr std::uint64_t size = 40;
  for (int round = 0; round < 300; ++round) {
    RangeSet set;
    std::vector<bool> marked(size);
    for (int step = 0; step < 12; ++step) {
      const std::uint64_t begin = prng.next() % size;
      const std::uint64_t end = begin + prng.next() % (size - begin + 1);
      const bool add = prng.next() % 3 != 0;
      add ? set.add({begin, end}) : set.remove({begin, end});
      for (std::uint64_t i = begin; i < end; ++i) marked[i] = add;
    }
    std::vector<bool> found(size);
    for (const ByteRange& range : set.ranges()) {
      for (std::uint64_t i = range.begin; i < range.end; ++i) found[i] = true;
    }
    REQUIRE(found == marked);
    const auto gap = set.first_gap(size);
    const auto first = std::find(marked.begin(), marked.end(), false) - marked.begin();
    REQUIRE((gap ? gap->begin : size) == static_cast<std::uint64_t>(first));
  }
}
