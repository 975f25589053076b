#include "bench/machine/checkpoint_bytes.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/prng.hpp"

namespace shardkit::bench {

void fill_with_noise(MutableBytes bytes, std::uint64_t seed) {
  Prng prng(seed);
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t noise = prng.next();
    std::memcpy(bytes.data() + i, &noise, std::min(sizeof noise, bytes.size() - i));
  }
}

CheckpointBytes::CheckpointBytes(std::uint64_t rank, std::uint64_t turn, std::size_t length)
    : rank_(rank), turn_(turn), buffer_(memory_.get(length)) {
  fill_with_noise(buffer_, rank);
}

Bytes CheckpointBytes::at(std::uint64_t offset, std::size_t length) {
  const MutableBytes bytes = buffer_.first(length);
  for (std::size_t i = 0; i < length; i += kBlock) {
    const std::array<std::uint64_t, 3> stamp{rank_, turn_, offset + i};
    std::memcpy(bytes.data() + i, stamp.data(), sizeof stamp);
  }
  return bytes;
}

}  // namespace shardkit::bench
