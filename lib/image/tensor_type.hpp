#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

/// The arithmetic of a bilinear resize without antialiasing, in fixed point: what image/resize.hpp computes row by row
/// and a GPU pixel by pixel. All of it is constexpr, so that kernels may call it too.
namespace shardkit::image {

/// How a value of a decoded image is stored.
enum class TensorType { u8, f16, f32 };
constexpr auto enum_names(TensorType) { return std::to_array<std::string_view>({"u8", "f16", "f32"}); }

/// Bytes of one value.
constexpr std::uint64_t value_bytes(TensorType type) {
  return type == TensorType::u8 ? 1 : type == TensorType::f16 ? 2 : 4;
}

/// `bits` without its lowest `shift` ones, rounded to nearest, ties to even. For to_half().
constexpr std::uint32_t rounded_bits(std::uint32_t bits, std::uint32_t shift) {
  const std::uint32_t kept = bits >> shift;
  const std::uint32_t remainder = bits & ((1U << shift) - 1);
  const std::uint32_t tie = 1U << (shift - 1);
  return kept + ((remainder > tie || (remainder == tie && (kept & 1U) != 0)) ? 1U : 0U);
}

/// The IEEE 754 binary16 nearest to `value`, ties to even, as its bits: what hardware and PyTorch's half() give.
/// Beyond 65519.99... comes infinity; a NaN stays one, made quiet, with the upper bits of its payload. In integers, and
/// constexpr, so that kernels of a GPU call the same.
constexpr std::uint16_t to_half(float value) {
  constexpr std::uint32_t kFloatInfinity = 0x7f800000;
  constexpr std::uint32_t kOverflow = 0x477ff000;     // 65520: halfway between the largest half and what would be next
  constexpr std::uint32_t kLeastNormal = 0x38800000;  // 2^-14
  constexpr std::uint32_t kRebias = 0x38000000;       // 112, the difference of the exponents' biases, in its place
  constexpr std::uint32_t kDropped = 13;              // bits of a float's mantissa that a half lacks
  constexpr std::uint32_t kLeastExponent = 102;       // of 2^-25, which is a tie with 0
  const auto all = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (all >> 16U) & 0x8000U;
  const std::uint32_t bits = all & 0x7fffffffU;
  const std::uint32_t exponent = bits >> 23U;
  std::uint32_t half = 0;
  if (bits > kFloatInfinity) {
    half = 0x7e00U | ((bits >> kDropped) & 0x3ffU);
  } else if (bits >= kOverflow) {
    half = 0x7c00U;
  } else if (bits >= kLeastNormal) {
    half = rounded_bits(bits - kRebias, kDropped);
  } else if (exponent >= kLeastExponent) {  // a multiple of 2^-24
    half = rounded_bits((bits & 0x7fffffU) | 0x800000U, 126 - exponent);
  }
  return static_cast<std::uint16_t>(sign | half);
}

/// Two neighbors in a direction: `first`, `next` (the same at the far edge) and what `next` counts, in 1/256.
struct BilinearTap {
  std::uint32_t first;
  std::uint32_t next;
  std::uint32_t weight;
};

inline constexpr std::uint32_t kBilinearOne = 256;

/// Where target pixel `target` takes its two source pixels, of `source_size` > 0. `scale` is source size over target
/// size; centers of pixels are at half integers.
constexpr BilinearTap bilinear_tap(std::uint32_t target, double scale, std::uint32_t source_size) {
  const double last = static_cast<double>(source_size - 1);
  double center = (target + 0.5) * scale - 0.5;
  center = center < 0 ? 0 : (center > last ? last : center);
  const auto first = static_cast<std::uint32_t>(center);
  const std::uint32_t next = first + 1 < source_size ? first + 1 : source_size - 1;
  return {first, next, static_cast<std::uint32_t>((center - first) * kBilinearOne)};
}

/// Two neighbors in a row as one level in 8.8 fixed point; `weight` is what `next` counts.
constexpr std::uint16_t bilinear_mix(std::uint8_t first, std::uint8_t next, std::uint32_t weight) {
  return static_cast<std::uint16_t>(first * (kBilinearOne - weight) + next * weight);
}

/// Two such levels, one above the other, as one of 8 bits; `weight` is what `second` counts.
constexpr std::uint8_t bilinear_blend(std::uint16_t first, std::uint16_t second, std::uint32_t weight) {
  constexpr std::uint32_t kMost = 0xffff;
  constexpr std::uint32_t kHalf = 130;  // half a level, and what the divisions by 2^16 cut off
  const auto part = static_cast<std::uint16_t>(weight * kBilinearOne);
  const auto other_part = static_cast<std::uint16_t>(kMost - part);
  const auto a = static_cast<std::uint16_t>((std::uint32_t{first} * other_part) >> 16U);
  const auto b = static_cast<std::uint16_t>((std::uint32_t{second} * part) >> 16U);
  return static_cast<std::uint8_t>(static_cast<std::uint16_t>(a + b + kHalf) >> 8U);
}

}  // namespace shardkit::image
