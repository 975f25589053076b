#include "bench/checkpoint/checkpoint_bytes.hpp"

#include <array>
#include <cstring>

#include "core/prng.hpp"

namespace shardkit {

CheckpointBytes::CheckpointBytes(std::uint64_t rank, std::uint64_t turn, std::size_t length)
    : rank_(rank), turn_(turn), buffer_(memory_.get(length)) {
  Prng prng(rank);
  for (std::size_t i = 0; i + sizeof(std::uint64_t) <= length; i += sizeof(std::uint64_t)) {
    const std::uint64_t noise = prng.next();
    std::memcpy(buffer_.data() + i, &noise, sizeof noise);
  }
}

Bytes CheckpointBytes::at(std::uint64_t offset, std::size_t length) {
  const MutableBytes bytes = buffer_.first(length);
  for (std::size_t i = 0; i < length; i += kBlock) {
    const std::array<std::uint64_t, 3> stamp{rank_, turn_, offset + i};
    std::memcpy(bytes.data() + i, stamp.data(), sizeof stamp);
  }
  return bytes;
}

}  // namespace shardkit
