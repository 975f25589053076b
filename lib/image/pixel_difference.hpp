#pragma once

#include <array>
#include <cstdint>

#include "image/pixels.hpp"

namespace shardkit {

/// The PSNR of images that are equal, and of those that differ by less: it has no upper end.
inline constexpr double kMostPsnr = 100;

/// How far two decodings of an image lie apart.
struct PixelDifference {
  double psnr_db = kMostPsnr;             ///< 10 log10(255^2 / mean squared difference of all values)
  std::array<std::uint8_t, 3> largest{};  ///< of red, green and blue
};

/// Both are RGB and of the same sides. Throws Error{usage} when they are not.
PixelDifference pixel_difference(const PixelView& a, const PixelView& b);

}  // namespace shardkit
