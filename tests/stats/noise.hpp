#pragma once

#include <cmath>
#include <string_view>
#include <vector>

#include "core/prng.hpp"

/// Noise as benchmarks have it, relative to the level.
namespace shardkit::test {

/// Student's t with 3 degrees of freedom, of deviation 1: normal over the root of a chi-square of 3 over 3 has variance
/// 3.
inline double student3(Prng& prng) {
  const double normal = prng.normal();
  double squares = 0;
  for (int i = 0; i < 3; ++i) {
    const double z = prng.normal();
    squares += z * z;
  }
  return normal / std::sqrt(squares / 3) / std::sqrt(3.0);
}

/// Two modes 4 % apart, each half of the time, with normal noise of deviation `within` around each.
inline double two_modes(Prng& prng, double within) {
  return (prng.below(2) == 0 ? -0.02 : 0.02) + within * prng.normal();
}

struct Noise {
  std::string_view name;
  double (*draw)(Prng&);
};

inline const std::vector<Noise>& noises() {
  static const std::vector<Noise> all{
      {"Student t, 3 degrees, deviation 3 %", [](Prng& prng) { return 0.03 * student3(prng); }},
      {"two modes 4 % apart, 1 % around each", [](Prng& prng) { return two_modes(prng, 0.01); }},
      {"two modes 4 % apart, 3 % in all", [](Prng& prng) { return two_modes(prng, std::sqrt(0.0005)); }},
      {"Student t, 3 degrees, scale 3 % (deviation 5.2 %)",
       [](Prng& prng) { return 0.03 * std::sqrt(3.0) * student3(prng); }},
  };
  return all;
}

}  // namespace shardkit::test
