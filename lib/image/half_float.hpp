#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace shardkit {

/// `bits` without its lowest `shift` ones, rounded to nearest, ties to even. For to_half().
constexpr std::uint32_t rounded_bits(std::uint32_t bits, std::uint32_t shift) {
  const std::uint32_t kept = bits >> shift;
  const std::uint32_t rest = bits & ((1U << shift) - 1);
  const std::uint32_t tie = 1U << (shift - 1);
  return kept + ((rest > tie || (rest == tie && (kept & 1U) != 0)) ? 1U : 0U);
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

/// The same for a whole row, by F16C where the processor has it. `halves` is as long as `values`.
void to_half(std::span<const float> values, std::span<std::uint16_t> halves);

}  // namespace shardkit
