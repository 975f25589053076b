#include "image/pixels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit::image {

PixelDifference pixel_difference(const PixelView& a, const PixelView& b) {
  if (a.width != b.width || a.height != b.height || a.channels != 3 || b.channels != 3) {
    throw Error(ErrorCode::usage, fmt::format("RGB images of {} x {} and {} x {} pixels cannot be compared", a.width,
                                              a.height, b.width, b.height));
  }
  std::array<int, 3> largest{};
  std::uint64_t squares = 0;
  for (std::size_t i = 0; i < a.bytes.size(); i += 3) {
    for (std::size_t c = 0; c < 3; ++c) {
      const int difference = std::abs(int{a.bytes[i + c]} - int{b.bytes[i + c]});
      largest[c] = std::max(largest[c], difference);
      squares += static_cast<std::uint64_t>(difference * difference);
    }
  }
  PixelDifference result;
  for (std::size_t c = 0; c < 3; ++c) result.largest[c] = static_cast<std::uint8_t>(largest[c]);
  if (squares == 0) return result;
  const double mean = static_cast<double>(squares) / static_cast<double>(a.bytes.size());
  result.psnr_db = std::min(kMostPsnr, 10 * std::log10(255.0 * 255.0 / mean));
  return result;
}

}  // namespace shardkit::image
