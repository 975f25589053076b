#include "stats/summary.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace shardkit {
namespace {

/// Largest number of values that may be cut off each end: P(X < cut) <= 0.025 for X of Binomial(n, 1/2).
std::size_t cut_from_each_end(std::size_t n) {
  double log_term = static_cast<double>(n) * std::log(0.5);  // of P(X = 0), which is no double above n = 1074
  double sum = std::exp(log_term);
  std::size_t cut = 0;
  while (sum <= 0.025 && cut + 1 < n) {
    ++cut;
    log_term += std::log(static_cast<double>(n - cut + 1) / static_cast<double>(cut));
    sum += std::exp(log_term);
  }
  return cut;
}

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

}  // namespace shardkit
