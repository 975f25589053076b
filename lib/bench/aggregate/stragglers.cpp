#include "bench/aggregate/stragglers.hpp"

#include <algorithm>
#include <cmath>

#include "stats/summary.hpp"

namespace shardkit::bench {

std::vector<std::size_t> stragglers(std::span<const double> rates) {
  if (rates.size() < kLeastNodesOfGroup) return {};
  const double median = stats::summarize(rates).median;
  std::vector<double> deviations;
  for (const double rate : rates) deviations.push_back(std::abs(rate - median));
  const double noise = kDeviationOfMad * stats::summarize(deviations).median;
  const double limit = std::min(median - kStragglerDeviations * noise, (1 - kStragglerShare) * median);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (rates[i] < limit) found.push_back(i);
  }
  return found;
}

}  // namespace shardkit::bench
