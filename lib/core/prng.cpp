#include "core/prng.hpp"

#include <bit>
#include <cmath>
#include <numbers>
#include <random>

namespace shardkit {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;

}  // namespace

std::uint64_t split_mix(std::uint64_t value) {
  value += kGolden;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

std::uint64_t random_bits() {
  std::random_device random;
  return std::uint64_t{random()} << 32U | random();
}

Prng::Prng(std::uint64_t seed) : state_{} {
  for (std::uint64_t& word : state_) {
    word = split_mix(seed);
    seed += kGolden;
  }
}

std::uint64_t Prng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Prng::below(std::uint64_t bound) {
  Uint128 product = static_cast<Uint128>(next()) * bound;
  auto low = static_cast<std::uint64_t>(product);
  if (low < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (low < threshold) {
      product = static_cast<Uint128>(next()) * bound;
      low = static_cast<std::uint64_t>(product);
    }
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Prng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Prng::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace shardkit
