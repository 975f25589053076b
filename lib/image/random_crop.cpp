#include "image/random_crop.hpp"

#include <algorithm>
#include <cmath>

namespace shardkit {
namespace {

constexpr double kMinScale = 0.08;
constexpr double kMinRatio = 3.0 / 4.0;
constexpr double kMaxRatio = 4.0 / 3.0;

std::uint32_t rounded(double value) { return static_cast<std::uint32_t>(std::lround(value)); }

CropBox central_crop(std::uint32_t width, std::uint32_t height) {
  const double ratio = std::clamp(static_cast<double>(width) / height, kMinRatio, kMaxRatio);
  const std::uint32_t w = std::clamp(rounded(height * ratio), 1U, width);
  const std::uint32_t h = std::clamp(rounded(width / ratio), 1U, height);
  return {(width - w) / 2, (height - h) / 2, w, h};
}

}  // namespace

CropBox draw_resized_crop(std::uint32_t width, std::uint32_t height, Prng& prng) {
  constexpr int kDraws = 10;
  const double area = static_cast<double>(width) * height;
  for (int draw = 0; draw < kDraws; ++draw) {
    const double target = area * (kMinScale + (1.0 - kMinScale) * prng.uniform());
    const double ratio = std::exp(std::log(kMinRatio) + (std::log(kMaxRatio) - std::log(kMinRatio)) * prng.uniform());
    const std::uint32_t w = rounded(std::sqrt(target * ratio));
    const std::uint32_t h = rounded(std::sqrt(target / ratio));
    if (w == 0 || h == 0 || w > width || h > height) continue;
    const auto y = static_cast<std::uint32_t>(prng.below(height - h + 1));
    const auto x = static_cast<std::uint32_t>(prng.below(width - w + 1));
    return {x, y, w, h};
  }
  return central_crop(width, height);
}

}  // namespace shardkit
