#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shardkit::image {

inline constexpr std::size_t kRgbChannels = 3;

/// Pixels in row order without padding, `channels` bytes each: 3 for RGB, 1 for gray. The memory is borrowed.
struct PixelView {
  std::span<const std::uint8_t> bytes;  ///< width * height * channels
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  unsigned channels = kRgbChannels;

  std::size_t stride() const { return std::size_t{width} * channels; }
  const std::uint8_t* row(std::size_t y) const { return bytes.data() + y * stride(); }
};

/// A rectangle of an image, in pixels from its top left corner.
struct CropBox {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool operator==(const CropBox&) const = default;
};

}  // namespace shardkit::image
