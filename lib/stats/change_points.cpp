#include "stats/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardkit::stats {
namespace {

/// Sums of logarithms and of their squares, up to each value.
struct Sums {
  explicit Sums(std::span<const double> values) : sum{0}, square{0} {
    for (const double value : values) {
      const double logarithm = std::log(value);
      sum.push_back(sum.back() + logarithm);
      square.push_back(square.back() + logarithm * logarithm);
    }
  }
  /// Squared deviation of the values from `from` to before `to` from their mean.
  double deviation(std::size_t from, std::size_t to) const {
    const double total = sum[to] - sum[from];
    return square[to] - square[from] - total * total / static_cast<double>(to - from);
  }

  std::vector<double> sum;
  std::vector<double> square;
};

Runs runs_of(std::span<const double> values) {
  Runs runs;
  for (const double value : values) runs.push_back({value});
  return runs;
}

void search(std::span<const double> values, std::size_t offset, Better better, double threshold,
            std::vector<ChangePoint>& found) {
  if (values.size() < 2 * kRunsBesideChange) return;
  const Sums sums(values);
  std::size_t best = 0;
  double least = std::numeric_limits<double>::max();
  const auto deviation_of = [&](std::size_t at) { return sums.deviation(0, at) + sums.deviation(at, values.size()); };
  for (std::size_t at = kRunsBesideChange; at + kRunsBesideChange <= values.size(); ++at) {
    const double deviation = deviation_of(at);
    if (deviation >= least) continue;
    least = deviation;
    best = at;
  }
  // At an end of these positions, the change may be nearer to the end of the values, where too few runs are beside it.
  if (best == kRunsBesideChange && deviation_of(best - 1) < least) return;
  if (best + kRunsBesideChange == values.size() && deviation_of(best + 1) < least) return;
  const MetricSamples samples{.base = runs_of(values.first(best)),
                              .changed = runs_of(values.subspan(best)),
                              .better = better,
                              .threshold = threshold};
  const Change change = judge_changes({&samples, 1}).front();
  const bool changed = change.verdict == ChangeVerdict::regressed || change.verdict == ChangeVerdict::improved;
  const double positions = static_cast<double>(values.size() - 2 * kRunsBesideChange + 1);
  if (!changed || change.p_value.value_or(1) * positions > kFalseAlarms) return;
  search(values.first(best), offset, better, threshold, found);
  found.push_back({offset + best, change});
  search(values.subspan(best), offset + best, better, threshold, found);
}

}  // namespace

std::vector<ChangePoint> change_points(std::span<const double> values, Better better, double threshold) {
  std::vector<ChangePoint> found;
  if (std::ranges::all_of(values, [](double value) { return value > 0; })) search(values, 0, better, threshold, found);
  return found;
}

}  // namespace shardkit::stats
