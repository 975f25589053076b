#include "gpu/pattern.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace shardkit::gpu {
namespace {

static_assert(std::endian::native == std::endian::little, "the lowest byte of a word comes first");

constexpr std::size_t kWord = sizeof(std::uint64_t);

std::uint64_t differing_bytes(std::uint64_t a, std::uint64_t b) {
  std::uint64_t count = 0;
  for (std::uint64_t difference = a ^ b; difference != 0; difference >>= 8U) count += (difference & 0xffU) != 0 ? 1 : 0;
  return count;
}

}  // namespace

void fill_pattern(MutableBytes bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes.size(); at += kWord) {
    const std::uint64_t word = pattern_word(seed, at / kWord);
    std::memcpy(bytes.data() + at, &word, std::min(kWord, bytes.size() - at));
  }
}

std::uint64_t count_mismatches(Bytes bytes, std::uint64_t seed) {
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kWord) {
    const std::uint64_t expected = pattern_word(seed, at / kWord);
    std::uint64_t found = expected;  // bytes after the end count as equal
    std::memcpy(&found, bytes.data() + at, std::min(kWord, bytes.size() - at));
    if (found != expected) count += differing_bytes(found, expected);
  }
  return count;
}

}  // namespace shardkit::gpu
