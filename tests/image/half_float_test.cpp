#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "core/prng.hpp"
#include "image/augment.hpp"

using namespace shardkit;
using namespace shardkit::image;

namespace {

/// What a half's bits stand for, exactly.
double value_of(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

/// The rule said plainly: the nearest of two neighbors, and of two as near the one with an even last bit.
std::uint16_t nearest(float value) {
  if (std::isinf(value)) return value > 0 ? 0x7c00 : 0xfc00;
  std::uint16_t below = 0;  // the largest finite half whose magnitude is not above the value's
  for (int bit = 14; bit >= 0; --bit) {
    const auto tried = static_cast<std::uint16_t>(below | (1U << static_cast<unsigned>(bit)));
    if (tried < 0x7c00 && value_of(tried) <= std::fabs(value)) below = tried;
  }
  const double next = below == 0x7bff ? 65536 : value_of(static_cast<std::uint16_t>(below + 1));
  const double down = std::fabs(value) - value_of(below);
  const double up = next - std::fabs(value);
  const bool rises = up < down || (up == down && below % 2 == 1);
  return static_cast<std::uint16_t>((std::signbit(value) ? 0x8000 : 0) | (below + (rises ? 1 : 0)));
}

/// Single numbers where rounding is difficult, and many drawn over all exponents.
std::vector<float> samples() {
  std::vector<float> values{0,      -0.0F,    1,        -1,       65504,      65519.996F, 65520,        -65520,
                            1e30F,  2048,     2049,     2050,     2051,       6.1e-5F,    5.96e-8F,     2.98e-8F,
                            1e-30F, 0x1p-14F, 0x1p-24F, 0x1p-25F, 0x1.8p-25F, 0x1.8p-24F, 0x1.ffcp-15F, 0x1.ffep-15F};
  values.push_back(std::numeric_limits<float>::infinity());
  values.push_back(std::numeric_limits<float>::denorm_min());
  Prng prng(5);
  while (values.size() < 60'000) {
    const auto bits = static_cast<std::uint32_t>(prng.next());
    const auto value = std::bit_cast<float>(bits % 3 == 0 ? bits & 0xfffff000U : bits);  // a third of them near ties
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

}  // namespace

TEST_CASE("a half is the nearest one, ties to even, for every kind of number") {
  for (const float value : samples()) {
    CAPTURE(value);
    REQUIRE(to_half(value) == nearest(value));
  }
}

TEST_CASE("every half comes back from its own value") {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const double value = value_of(half);
    if (!std::isnan(value)) REQUIRE(to_half(static_cast<float>(value)) == half);
  }
}

TEST_CASE("a NaN stays a NaN") {
  CHECK(std::isnan(value_of(to_half(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isnan(value_of(to_half(std::bit_cast<float>(0x7f800001U)))));
  CHECK(std::isnan(value_of(to_half(std::bit_cast<float>(0xffc00000U)))));
}

TEST_CASE("rows of any length are rounded as single numbers are, whatever the processor has") {
  const std::vector<float> values = samples();
  for (const std::size_t length : {0U, 1U, 7U, 8U, 9U, 672U, 59'999U}) {
    std::vector<std::uint16_t> halves(length);
    to_half(std::span(values).first(length), halves);
    for (std::size_t i = 0; i < length; ++i) REQUIRE(halves[i] == to_half(values[i]));
  }
}
