#pragma once

#include <cstdint>

/// The arithmetic of a bilinear resize without antialiasing, in fixed point: what image/resize.hpp computes row by row
/// and a GPU pixel by pixel. All of it is constexpr, so that kernels may call it too.
namespace shardkit {

/// Two neighbours in a direction: `first`, `next` (the same at the far edge) and what `next` counts, in 1/256.
struct BilinearTap {
  std::uint32_t first;
  std::uint32_t next;
  std::uint32_t weight;
};

inline constexpr std::uint32_t kBilinearOne = 256;

/// Where target pixel `target` takes its two source pixels, of `source_size` > 0. `scale` is source size over target
/// size; centres of pixels are at half integers.
constexpr BilinearTap bilinear_tap(std::uint32_t target, double scale, std::uint32_t source_size) {
  const double last = static_cast<double>(source_size - 1);
  double centre = (target + 0.5) * scale - 0.5;
  centre = centre < 0 ? 0 : (centre > last ? last : centre);
  const auto first = static_cast<std::uint32_t>(centre);
  const std::uint32_t next = first + 1 < source_size ? first + 1 : source_size - 1;
  return {first, next, static_cast<std::uint32_t>((centre - first) * kBilinearOne)};
}

/// Two neighbours in a row as one level in 8.8 fixed point; `weight` is what `next` counts.
constexpr std::uint16_t bilinear_mix(std::uint8_t first, std::uint8_t next, std::uint32_t weight) {
  return static_cast<std::uint16_t>(first * (kBilinearOne - weight) + next * weight);
}

/// Two such levels, one above the other, as one of 8 bits; `weight` is what `second` counts.
constexpr std::uint8_t bilinear_blend(std::uint16_t first, std::uint16_t second, std::uint32_t weight) {
  constexpr std::uint32_t kMost = 0xffff;
  constexpr std::uint32_t kHalf = 130;  // half a level, and what the divisions by 2^16 cut off
  const auto part = static_cast<std::uint16_t>(weight * kBilinearOne);
  const auto rest = static_cast<std::uint16_t>(kMost - part);
  const auto a = static_cast<std::uint16_t>((std::uint32_t{first} * rest) >> 16U);
  const auto b = static_cast<std::uint16_t>((std::uint32_t{second} * part) >> 16U);
  return static_cast<std::uint8_t>(static_cast<std::uint16_t>(a + b + kHalf) >> 8U);
}

}  // namespace shardkit
