#pragma once

#include <cstdint>

#include "core/bytes.hpp"
#include "io/file.hpp"

namespace shardkit::bench {

/// Fills memory with noise that no disk can compress: a function of `seed` alone.
void fill_with_noise(MutableBytes bytes, std::uint64_t seed);

/// What a rank's file holds: noise that no disk can compress, and in every block of it its rank, turn and place, so
/// that a block which was lost, doubled or left from an earlier turn is noticed when it is read back. A function of
/// rank, turn and offset alone: nothing needs to be kept for the comparison.
class CheckpointBytes {
 public:
  static constexpr std::uint64_t kBlock = 4096;

  /// `length` is a multiple of kBlock: the most that one call of at() is asked for.
  CheckpointBytes(std::uint64_t rank, std::uint64_t turn, std::size_t length);

  /// The `length` bytes at `offset`, both multiples of kBlock. Valid until the next call.
  Bytes at(std::uint64_t offset, std::size_t length);

 private:
  std::uint64_t rank_;
  std::uint64_t turn_;
  io::AlignedBuffer memory_;
  MutableBytes buffer_;
};

}  // namespace shardkit::bench
