#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace shardkit::image {

/// Pixels in row order without padding, `channels` bytes each: 3 for RGB, 1 for gray. The memory is someone else's.
struct PixelView {
  std::span<const std::uint8_t> bytes;  ///< width * height * channels
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  unsigned channels = 3;

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

/// The PSNR of images that are equal, and of those that differ by less: it has no upper end.
inline constexpr double kMostPsnr = 100;

/// How far two decodings of an image lie apart.
struct PixelDifference {
  double psnr_db = kMostPsnr;             ///< 10 log10(255^2 / mean squared difference of all values)
  std::array<std::uint8_t, 3> largest{};  ///< of red, green and blue
};

/// Both are RGB and of the same sides. Throws Error{usage} when they are not.
PixelDifference pixel_difference(const PixelView& a, const PixelView& b);

}  // namespace shardkit::image
