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

/// Searches a series and its parts.
class Search {
 public:
  Search(Better better, double threshold) : better_(better), threshold_(threshold) {}

  /// `tries` is how many parts of these values were looked at before.
  void search(std::span<const double> values, std::size_t offset, double tries) {
    if (values.size() < 2 * kRunsBesideChange) return add_part(values);
    const std::size_t best = best_split(Sums(values), values.size());
    // A change too near to an end shows nothing, and hides others.
    if (best < kRunsBesideChange) return search(values.subspan(best), offset + best, tries + 1);
    if (best + kRunsBesideChange > values.size()) return search(values.first(best), offset, tries + 1);
    const MetricSamples samples{.base = runs_of(values.first(best)),
                                .changed = runs_of(values.subspan(best)),
                                .better = better_,
                                .threshold = threshold_};
    const Change change = judge_changes({&samples, 1}).front();
    const bool changed = change.verdict == ChangeVerdict::regressed || change.verdict == ChangeVerdict::improved;
    const double positions = static_cast<double>(values.size() - 2 * kRunsBesideChange + 1);
    if (!changed || change.p_value.value_or(1) * positions * tries > kFalseAlarms) return add_part(values);
    search(values.first(best), offset, tries);
    points_.push_back({offset + best, change});
    search(values.subspan(best), offset + best, tries);
  }

  ChangePoints result() && {
    // The correlation within a part of m runs is estimated too low, by about (1 + 3 r) / m: each change makes one more.
    constexpr double kHiddenByChange = 3;
    const double hidden =
        kHiddenByChange * static_cast<double>(points_.size()) / static_cast<double>(std::max<std::size_t>(runs_, 1));
    if (products_ > (kMostCorrelation - hidden) * squares_ && runs_ >= 2 * kRunsBesideChange)
      return {.points = {}, .drifts = true};
    return {.points = std::move(points_), .drifts = false};
  }

 private:
  /// The position at which the two parts deviate least.
  static std::size_t best_split(const Sums& sums, std::size_t size) {
    std::size_t best = 1;
    double least = std::numeric_limits<double>::max();
    for (std::size_t at = 1; at < size; ++at) {
      const double deviation = sums.deviation(0, at) + sums.deviation(at, size);
      if (deviation >= least) continue;
      least = deviation;
      best = at;
    }
    return best;
  }

  /// Values without a change: how much each is like the one before it.
  void add_part(std::span<const double> values) {
    if (values.empty()) return;
    const Sums sums(values);
    const double mean = sums.sum.back() / static_cast<double>(values.size());
    for (std::size_t i = 1; i < values.size(); ++i) {
      products_ += (std::log(values[i]) - mean) * (std::log(values[i - 1]) - mean);
    }
    squares_ += sums.deviation(0, values.size());
    runs_ += values.size();
  }

  Better better_;
  double threshold_;
  std::vector<ChangePoint> points_;
  double products_ = 0;
  double squares_ = 0;
  std::size_t runs_ = 0;
};

bool all_positive(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return value > 0; });
}

}  // namespace

ChangePoints change_points(std::span<const double> values, Better better, double threshold) {
  if (!all_positive(values)) return {};
  Search search(better, threshold);
  search.search(values, 0, 1);
  return std::move(search).result();
}

NewestRun judge_newest(std::span<const double> values, Better better, std::size_t metrics, double threshold) {
  constexpr std::size_t kLeastBefore = 4;
  NewestRun newest;
  if (values.size() <= kLeastBefore || !all_positive(values)) return newest;
  const std::size_t before = std::max(kLeastBefore, values.size() - std::min(values.size(), kRunsBesideChange - 1));
  std::vector<double> levels;
  for (const double value : values.first(before)) levels.push_back(std::log(value));
  const double level = summarize(levels).median;
  for (double& one : levels) one = std::abs(one - level);
  const auto count = static_cast<double>(before);
  const double noise = 1.4826 * summarize(levels).median * count / (count - 1) * std::sqrt(1 + 1.57 / count);
  const double deviations = student_quantile(kFalseAlarms / static_cast<double>(3 * metrics), before - 1);
  const double limit = std::max(deviations * noise, -std::log(1 - threshold));
  const auto verdict_on = [&](double value) {
    const double change = std::log(value) - level;
    if (std::abs(change) <= limit) return ChangeVerdict::pass;
    return (change > 0) == (better == Better::higher) ? ChangeVerdict::improved : ChangeVerdict::regressed;
  };
  newest.verdict = verdict_on(values.back());
  newest.ratio = values.back() / std::exp(level) - 1;
  for (std::size_t i = values.size(); i > before && verdict_on(values[i - 1]) == newest.verdict; --i) ++newest.runs;
  return newest;
}

}  // namespace shardkit::stats
