#include "stats/prediction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "stats/summary.hpp"

namespace shardkit {
namespace {

constexpr double kMiss = 0.025;  // at each end

/// Of Student's t with 1, 2, ... degrees of freedom: what it passes in 2.5 % of cases.
constexpr std::array kStudent = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646};

double log_choose(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

/// P(the `middle`-th smallest of n new values lies below the `rank`-th smallest of n old ones), both from 1 on: fewer
/// than `rank` old values come before it in the order of all 2 n, of which each is as likely as any other.
double chance_below(std::size_t middle, std::size_t rank, std::size_t n) {
  const auto all = static_cast<double>(n);
  const auto m = static_cast<double>(middle);
  double sum = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto before = static_cast<double>(i);
    sum += std::exp(log_choose(m - 1 + before, before) + log_choose(2 * all - m - before, all - before) -
                    log_choose(2 * all, all));
  }
  return sum;
}

/// The largest rank that the new median lies below in at most kMiss of cases; 0 when even the smallest is too high. Of
/// an even number the lower of the two middle values stands for their mean, which errs to the safe side.
std::size_t lower_rank(std::size_t n) {
  const std::size_t middle = (n + 1) / 2;
  std::size_t rank = 0;
  while (rank + 1 <= n / 2 && chance_below(middle, rank + 1, n) <= kMiss) ++rank;
  return rank;
}

/// Never narrower than what was seen: the median of two modes jumps from one to the other.
PredictionInterval by_student(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / (n - 1));
  const double half = kStudent[values.size() - 2] * deviation * std::sqrt(std::numbers::pi / 2 * 2 / n);
  const double median = summarize(values).median;
  const auto [low, high] = std::ranges::minmax(values);
  return {std::min(low, median - half), std::max(high, median + half)};
}

/// By what the values themselves show.
PredictionInterval by_values(std::span<const double> values) {
  const std::size_t rank = lower_rank(values.size());
  if (rank == 0) return by_student(values);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return {sorted[rank - 1], sorted[sorted.size() - rank]};
}

}  // namespace

std::optional<PredictionInterval> prediction_interval(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const PredictionInterval shown = by_values(values);
  const double median = summarize(values).median;
  const double drift = kDriftBetweenRuns * std::abs(median);
  const double low = std::min(shown.low, median - drift);
  const bool none_below = std::ranges::min(values) >= 0;
  return PredictionInterval{none_below ? std::max(low, 0.0) : low, std::max(shown.high, median + drift)};
}

}  // namespace shardkit
