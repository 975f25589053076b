#include "gpu/pattern.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace shardkit;
using namespace shardkit::gpu;

TEST_CASE("the pattern is the finalizer of splitmix64") {
  // First output of the published generator for the seed 0.
  CHECK(pattern_word(0, 0) == 0xe220a8397b1dcdafULL);
  CHECK(pattern_word(0, 1) == 0x6e789e6aa1b965f4ULL);
}

TEST_CASE("what was filled fits, whatever its length") {
  for (const std::size_t length : {0U, 1U, 7U, 8U, 9U, 4096U, 4099U}) {
    std::vector<std::byte> bytes(length + 1, std::byte{0x55});
    fill_pattern({bytes.data(), length}, 7);
    CHECK(count_mismatches({bytes.data(), length}, 7) == 0);
    CHECK(bytes[length] == std::byte{0x55});
  }
}

TEST_CASE("every byte that is lost, old or in another place is counted") {
  std::vector<std::byte> bytes(4099);
  fill_pattern(bytes, 1);
  bytes[0] ^= std::byte{1};
  bytes[13] ^= std::byte{0x80};
  bytes[14] ^= std::byte{0xff};
  bytes.back() ^= std::byte{1};
  CHECK(count_mismatches(bytes, 1) == 4);
  fill_pattern(bytes, 2);
  CHECK(count_mismatches(bytes, 1) > 4000);
  CHECK(count_mismatches(Bytes(bytes).subspan(8), 2) > 4000);
}
