#pragma once

#include <cstdint>

#include "core/bytes.hpp"

/// Whole numbers in the headers of images. The caller checks that the bytes exist.
namespace shardkit::image {

inline std::uint32_t byte_at(Bytes bytes, std::size_t at) { return std::to_integer<std::uint32_t>(bytes[at]); }

inline std::uint32_t big_u16(Bytes bytes, std::size_t at) { return byte_at(bytes, at) << 8U | byte_at(bytes, at + 1); }
inline std::uint32_t big_u32(Bytes bytes, std::size_t at) { return big_u16(bytes, at) << 16U | big_u16(bytes, at + 2); }
inline std::uint32_t little_u16(Bytes bytes, std::size_t at) {
  return byte_at(bytes, at + 1) << 8U | byte_at(bytes, at);
}
inline std::uint32_t little_u32(Bytes bytes, std::size_t at) {
  return little_u16(bytes, at + 2) << 16U | little_u16(bytes, at);
}

}  // namespace shardkit::image
