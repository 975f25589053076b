#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "bench/read/read_work.hpp"

using namespace shardkit;
using namespace shardkit::bench;

namespace {

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

std::vector<std::uint64_t> all_of(const Permutation& permutation, std::uint64_t size) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < size; ++i) values.push_back(permutation(i));
  return values;
}

}  // namespace

TEST_CASE("a permutation has each number once, in an order that depends on the seed alone") {
  for (const std::uint64_t size : {1U, 2U, 3U, 5U, 16U, 17U, 1000U, 4096U, 65537U}) {
    auto values = all_of(Permutation(size, 1), size);
    CHECK(values == all_of(Permutation(size, 1), size));
    if (size >= 16) CHECK(values != all_of(Permutation(size, 2), size));
    std::ranges::sort(values);
    for (std::uint64_t i = 0; i < size; ++i) REQUIRE(values[i] == i);
  }
}

TEST_CASE("a permutation of billions takes no memory and leaves no number out of its range") {
  constexpr std::uint64_t kSize = (1ULL << 41U) + 12345;  // 4 KiB blocks of 9 PB
  const Permutation permutation(kSize, 7);
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    CHECK(permutation(i * 1000003) < kSize);
    CHECK(seen.insert(permutation(i * 1000003)).second);
  }
}

TEST_CASE("neighbors are spread: few numbers stand next to their successor") {
  const auto values = all_of(Permutation(10000, 3), 10000);
  int neighbors = 0;
  for (std::size_t i = 1; i < values.size(); ++i) neighbors += values[i] == values[i - 1] + 1 ? 1 : 0;
  CHECK(neighbors < 20);
}

TEST_CASE("a grid has each whole piece of each file once and leaves out what lies behind the last") {
  const std::vector<InputFile> files{
      {"a", 1000, false, 1}, {"empty", 0, false, 1}, {"small", 99, false, 1}, {"b", 350, false, 1}};
  const GridOrder order(files, 100, 0, kAll);
  REQUIRE(order.size() == 13);
  CHECK(order.largest() == 100);
  std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    const SampleRef piece = order.at(i);
    CHECK(piece.bytes == 100);
    CHECK(piece.offset % 100 == 0);
    CHECK(piece.offset + 100 <= files[piece.file].bytes);
    seen.emplace(piece.file, piece.offset);
  }
  CHECK(seen.size() == 13);
  CHECK(GridOrder(files, 100, 0, 5).size() == 5);
  CHECK(GridOrder(files, 2000, 0, kAll).size() == 0);
}

TEST_CASE("samples are shuffled by the seed, and the first of them are taken") {
  std::vector<SampleRef> samples;
  for (std::uint32_t i = 0; i < 100; ++i) samples.push_back({0, i, i + 1, 0, 0});
  const ShuffledSamples order(samples, 1, kAll);
  CHECK(order.size() == 100);
  CHECK(order.largest() == 100);
  const ShuffledSamples some(samples, 1, 7);
  REQUIRE(some.size() == 7);
  for (std::uint64_t i = 0; i < 7; ++i) CHECK(some.at(i).offset == order.at(i).offset);
  CHECK(ShuffledSamples(samples, 2, 7).at(0).offset != order.at(0).offset);
}
