#include "stats/steadiness.hpp"

#include <cstddef>

namespace shardkit {

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

}  // namespace shardkit
