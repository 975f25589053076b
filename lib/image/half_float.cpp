#include "image/half_float.hpp"

#include <bit>
#include <cstddef>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace shardkit {
namespace {

constexpr std::uint32_t kFloatInfinity = 0x7f800000;
constexpr std::uint32_t kOverflow = 0x477ff000;     // 65520: halfway between the largest half and what would be next
constexpr std::uint32_t kLeastNormal = 0x38800000;  // 2^-14
constexpr std::uint32_t kRebias = 0x38000000;       // 112, the difference of the exponents' biases, in its place
constexpr unsigned kDropped = 13;                   // bits of a float's mantissa that a half lacks

/// `bits` without its lowest `shift` ones, rounded to nearest, ties to even.
std::uint32_t rounded(std::uint32_t bits, unsigned shift) {
  const std::uint32_t kept = bits >> shift;
  const std::uint32_t rest = bits & ((1U << shift) - 1);
  const std::uint32_t tie = 1U << (shift - 1);
  return kept + ((rest > tie || (rest == tie && (kept & 1U) != 0)) ? 1U : 0U);
}

/// A float below 2^-14: a multiple of 2^-24, or 0.
std::uint32_t subnormal(std::uint32_t bits) {
  const std::uint32_t exponent = bits >> 23U;
  constexpr std::uint32_t kLeastExponent = 102;  // of 2^-25, which is a tie with 0
  if (exponent < kLeastExponent) return 0;
  return rounded((bits & 0x7fffffU) | 0x800000U, 126 - exponent);
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

bool has_f16c() {
  static const bool has = __builtin_cpu_supports("f16c") != 0 && __builtin_cpu_supports("avx") != 0;
  return has;
}
#endif

}  // namespace

std::uint16_t to_half(float value) {
  const auto all = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (all >> 16U) & 0x8000U;
  const std::uint32_t bits = all & 0x7fffffffU;
  std::uint32_t half = 0;
  if (bits > kFloatInfinity) {
    half = 0x7e00U | ((bits >> kDropped) & 0x3ffU);
  } else if (bits >= kOverflow) {
    half = 0x7c00U;
  } else if (bits < kLeastNormal) {
    half = subnormal(bits);
  } else {
    half = rounded(bits - kRebias, kDropped);
  }
  return static_cast<std::uint16_t>(sign | half);
}

void to_half(std::span<const float> values, std::span<std::uint16_t> halves) {
#if defined(__x86_64__)
  if (has_f16c()) return to_half_f16c(values, halves);
#endif
  to_half_portable(values, halves);
}

}  // namespace shardkit
