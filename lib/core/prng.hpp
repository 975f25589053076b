#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace shardkit {

/// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014): spreads the bits of `value` over all 64.
std::uint64_t split_mix(std::uint64_t value);

/// 64 bits from the system's source of chance, for seeds and for names that nobody else chooses. Thread-safe.
std::uint64_t random_bits();

/// xoshiro256** 1.0 (Blackman and Vigna, 2018, prng.di.unimi.it), its four state words seeded from one 64-bit seed
/// by SplitMix64. The sequence is part of shardkit's file formats: a shuffle depends on it and must never change.
/// Not for secrets. Not thread-safe.
class Prng {
 public:
  explicit Prng(std::uint64_t seed);

  /// The next 64 bits.
  std::uint64_t next();

  /// Uniform in [0, bound), without bias; bound must not be 0. Lemire's multiplication with rejection ("Fast Random
  /// Integer Generation in an Interval", 2019).
  std::uint64_t below(std::uint64_t bound);

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform();

  /// Normal with mean 0 and deviation 1 (Box-Muller, the cosine half).
  double normal();

 private:
  std::array<std::uint64_t, 4> state_;
};

/// Fisher-Yates from the last element down, with one below() per element. Depends only on the element count and the
/// generator's state, on every machine.
template <class T>
void shuffle(std::span<T> items, Prng& prng) {
  for (std::size_t i = items.size(); i > 1; --i) {
    const auto j = static_cast<std::size_t>(prng.below(i));
    std::swap(items[i - 1], items[j]);
  }
}

}  // namespace shardkit
