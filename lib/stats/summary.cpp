#include "stats/summary.hpp"

#include <algorithm>
#include <cmath>

namespace shardkit::stats {
namespace {

/// Largest number of values that may be cut off each end: P(X < cut) <= 0.025 for X of Binomial(n, 1/2).
std::size_t cut_from_each_end(std::size_t n) {
  double log_term =
      static_cast<double>(n) * std::log(0.5);  // of P(X = 0), which is below the smallest double if n > 1074
  double sum = std::exp(log_term);
  std::size_t cut = 0;
  while (sum <= 0.025 && cut + 1 < n) {
    ++cut;
    log_term += std::log(static_cast<double>(n - cut + 1) / static_cast<double>(cut));
    sum += std::exp(log_term);
  }
  return cut;
}

constexpr double kKneeShare = 0.95;
constexpr double kLeastGain = 1.05;

}  // namespace

Summary summarize(std::span<const double> values) {
  if (values.empty()) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  // cut_from_each_end's rank is 1-based: the interval starts at the cut-th smallest value.
  const std::size_t cut = std::max<std::size_t>(cut_from_each_end(n), 1);
  return {(sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[cut - 1], sorted[n - cut]};
}

std::vector<std::uint64_t> doubling_up_to(std::uint64_t most) {
  std::vector<std::uint64_t> levels;
  for (std::uint64_t level = 1; level < most; level *= 2) levels.push_back(level);
  levels.push_back(most);
  return levels;
}

std::size_t knee_of(std::span<const double> rates) {
  const double enough = kKneeShare * *std::ranges::max_element(rates);
  const auto knee = std::ranges::find_if(rates, [&](double rate) { return rate >= enough; });
  return static_cast<std::size_t>(knee - rates.begin());
}

bool has_levelled_off(std::span<const double> rates) {
  if (rates.size() < 3) return false;
  const auto gains = [&](std::size_t level) {
    return rates[level] >= kLeastGain * *std::ranges::max_element(rates.first(level));
  };
  return !gains(rates.size() - 1) && !gains(rates.size() - 2);
}

double relative_drift(std::span<const double> rates) {
  const auto n = static_cast<double>(rates.size());
  if (rates.size() < 4) return 0;
  double mean = 0;
  for (const double rate : rates) mean += rate / n;
  if (mean == 0) return 0;
  double covariance = 0;
  double variance = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double x = static_cast<double>(i) - (n - 1) / 2;
    covariance += x * (rates[i] - mean);
    variance += x * x;
  }
  return covariance / variance * (n - 1) / mean;
}

}  // namespace shardkit::stats
