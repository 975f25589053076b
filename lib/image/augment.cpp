#include "image/augment.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace shardkit::image {
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

constexpr float kMostLevel = 255;

/// Kept free of branches and calls, so that the compiler makes vector instructions of it.
[[gnu::always_inline]] inline void normalize_each(std::span<const std::uint8_t> levels, const float* mean,
                                                  const float* deviation, float* out) {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    out[i] = (static_cast<float>(levels[i]) / kMostLevel - mean[i]) / deviation[i];
  }
}

#if defined(__x86_64__)
/// Without fused multiplication, which would round once less: both ways give the same bits.
[[gnu::target("avx2")]] void normalize_avx2(std::span<const std::uint8_t> levels, const float* mean,
                                            const float* deviation, float* out) {
  normalize_each(levels, mean, deviation, out);
}
#endif

void normalize(std::span<const std::uint8_t> levels, const float* mean, const float* deviation, float* out) {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return normalize_avx2(levels, mean, deviation, out);
#endif
  normalize_each(levels, mean, deviation, out);
}

void to_half_portable(std::span<const float> values, std::span<std::uint16_t> halves) {
  for (std::size_t i = 0; i < values.size(); ++i) halves[i] = to_half(values[i]);
}

#if defined(__x86_64__)
[[gnu::target("avx,f16c")]] void to_half_f16c(std::span<const float> values, std::span<std::uint16_t> halves) {
  constexpr std::size_t kLanes = 8;
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    const __m128i packed = _mm256_cvtps_ph(_mm256_loadu_ps(values.data() + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves.data() + i), packed);
  }
  _mm256_zeroupper();
  to_half_portable(values.subspan(i), halves.subspan(i));
}
#endif

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

void to_half(std::span<const float> values, std::span<std::uint16_t> halves) {
#if defined(__x86_64__)
  static const bool has_f16c = __builtin_cpu_supports("f16c") != 0 && __builtin_cpu_supports("avx") != 0;
  if (has_f16c) return to_half_f16c(values, halves);
#endif
  to_half_portable(values, halves);
}

void Augmenter::prepare(std::size_t width) {
  const std::size_t values = width * kRgbChannels;
  if (levels_.size() == values) return;
  levels_.resize(values);
  mean_.resize(values);
  deviation_.resize(values);
  floats_.resize(values);
  halves_.resize(values);
  for (std::size_t i = 0; i < values; ++i) {
    const std::size_t channel = i / width;
    mean_[i] = kImageNetMean[channel];
    deviation_[i] = kImageNetDeviation[channel];
  }
}

void Augmenter::arrange(const PixelView& rgb, std::uint32_t y, bool flip) {
  const std::size_t width = rgb.width;
  const std::uint8_t* pixel = rgb.row(y);
  for (std::size_t x = 0; x < width; ++x, pixel += kRgbChannels) {
    std::uint8_t* target = levels_.data() + (flip ? width - 1 - x : x);
    for (std::size_t c = 0; c < kRgbChannels; ++c) target[c * width] = pixel[c];
  }
}

Bytes Augmenter::convert() {
  if (type_ == TensorType::u8) return std::as_bytes(std::span(levels_));
  normalize(levels_, mean_.data(), deviation_.data(), floats_.data());
  if (type_ == TensorType::f32) return std::as_bytes(std::span(floats_));
  to_half(floats_, halves_);
  return std::as_bytes(std::span(halves_));
}

void Augmenter::augment(const PixelView& rgb, bool flip, MutableBytes sample) {
  prepare(rgb.width);
  const std::size_t part_bytes = rgb.width * value_bytes(type_);  // of one row of a plane
  for (std::uint32_t y = 0; y < rgb.height; ++y) {
    arrange(rgb, y, flip);
    const Bytes row = convert();
    for (std::size_t part = 0; part < kRgbChannels; ++part) {
      std::byte* target = sample.data() + (part * rgb.height + y) * part_bytes;
      std::memcpy(target, row.data() + part * part_bytes, part_bytes);
    }
  }
}

}  // namespace shardkit::image
