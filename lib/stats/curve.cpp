#include "stats/curve.hpp"

#include <algorithm>

namespace shardkit {
namespace {

constexpr double kKneeShare = 0.95;
constexpr double kLeastGain = 1.05;

}  // namespace

std::size_t knee_of(std::span<const double> rates) {
  const double enough = kKneeShare * *std::ranges::max_element(rates);
  const auto knee = std::ranges::find_if(rates, [&](double rate) { return rate >= enough; });
  return static_cast<std::size_t>(knee - rates.begin());
}

bool has_levelled_off(std::span<const double> rates) {
  if (rates.size() < 3) return false;
  const auto brings_something = [&](std::size_t level) {
    return rates[level] >= kLeastGain * *std::ranges::max_element(rates.first(level));
  };
  return !brings_something(rates.size() - 1) && !brings_something(rates.size() - 2);
}

}  // namespace shardkit
