#pragma once

#include <cstdint>

#include "core/bytes.hpp"

/// Bytes to check copies with. Word i of a buffer is a mix of a seed and i, so that a byte that is old, lost or
/// misplaced is noticed. The host and the GPU generate the same (gpu/kernels.cu).
namespace shardkit::gpu {

/// Bytes 8 * index to 8 * index + 7 of a buffer, the lowest byte first. The mix is the last step of splitmix64.
constexpr std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t word = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27U)) * 0x94d049bb133111ebULL;
  return word ^ (word >> 31U);
}

void fill_pattern(MutableBytes bytes, std::uint64_t seed);

/// How many bytes differ from the pattern.
std::uint64_t count_mismatches(Bytes bytes, std::uint64_t seed);

}  // namespace shardkit::gpu
