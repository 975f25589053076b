#include "stats/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace shardkit::stats {
namespace {

/// P(Z > z) of the normal distribution.
double normal_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

constexpr double kMiss = 0.025;  // at each end

double log_choose(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

/// P(the `middle`-th smallest of n new values is below the `rank`-th smallest of n old ones), both from 1 on: fewer
/// than `rank` old values come before it in the order of all 2 n, of which each is equally likely.
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

/// The largest rank whose value is above the new median in at most kMiss of cases; 0 if even the smallest is too high.
/// Of an even number, the lower of the two middle values replaces their mean, which errs to the safe side.
std::size_t lower_rank(std::size_t n) {
  const std::size_t middle = (n + 1) / 2;
  std::size_t rank = 0;
  while (rank + 1 <= n / 2 && chance_below(middle, rank + 1, n) <= kMiss) ++rank;
  return rank;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Sum of the squared distances from the mean.
double squares_of(std::span<const double> values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

/// Never narrower than the observed range: the median of two modes jumps from one to the other.
Interval by_student(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double deviation = std::sqrt(squares_of(values) / (n - 1));
  const double half = student_quantile(kMiss, values.size() - 1) * deviation * std::sqrt(std::numbers::pi / 2 * 2 / n);
  const double median = summarize(values).median;
  const auto [low, high] = std::ranges::minmax(values);
  return {std::min(low, median - half), std::max(high, median + half)};
}

/// Judged by the values themselves.
Interval by_values(std::span<const double> values) {
  const std::size_t rank = lower_rank(values.size());
  if (rank == 0) return by_student(values);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return {sorted[rank - 1], sorted[sorted.size() - rank]};
}

bool have_ratios(const Runs& runs, double floor) {
  return std::ranges::all_of(runs, [floor](const std::vector<double>& run) {
    return !run.empty() && std::ranges::all_of(run, [floor](double value) {
      return (value > 0 || (value == 0 && floor > 0)) && std::isfinite(value);
    });
  });
}

/// One side of a metric, in logarithms.
struct Side {
  std::vector<double> runs;  ///< the median of each
  double within = 0;         ///< mean variance of such a median, from the repetitions within each run
};

Side side_of(const Runs& runs, double floor) {
  Side side;
  for (const std::vector<double>& run : runs) {
    std::vector<double> logs;
    for (const double value : run) logs.push_back(std::log(std::max(value, floor)));
    side.runs.push_back(summarize(logs).median);
    if (run.size() < 2) continue;
    const auto count = static_cast<double>(run.size());
    const double of_mean = squares_of(logs) / (count - 1) / count;
    side.within += of_mean * std::numbers::pi / 2 / static_cast<double>(runs.size());  // medians vary more
  }
  return side;
}

/// How much the logarithm changed, and how uncertain that is.
struct Estimate {
  double shift = 0;
  double variance = 0;       ///< of the shift
  std::size_t degrees = 0;   ///< of freedom of the variance; 0: it is known
  double pair_variance = 0;  ///< of the shift of one run per side
  bool assumed = false;      ///< at least a part of the variance

  double tail(double distance) const {
    if (variance > 0) return student_tail(std::abs(distance) / std::sqrt(variance), degrees);
    return distance == 0 ? 0.5 : 0;
  }
};

/// The variance of a mean of the runs of one side, and its degrees of freedom; 0 if it is assumed.
struct SideVariance {
  double of_run = 0;
  double of_mean = 0;
  double degrees = 0;
};

SideVariance variance_of(const Side& side) {
  const auto count = static_cast<double>(side.runs.size());
  const double seen = count > 1 ? squares_of(side.runs) / (count - 1) : 0;
  if (side.runs.size() >= kLeastRuns) return {seen, seen / count, count - 1};
  const double assumed = std::max(kAssumedRunDeviation * kAssumedRunDeviation + side.within, seen);
  return {assumed, assumed / count, 0};
}

/// Sides of different sizes, each with its own variance (Welch and Satterthwaite).
Estimate estimate_by_sides(const Side& base, const Side& changed) {
  constexpr double kMostDegrees = 1000;
  const SideVariance a = variance_of(base);
  const SideVariance b = variance_of(changed);
  Estimate estimate{.shift = mean_of(changed.runs) - mean_of(base.runs), .variance = a.of_mean + b.of_mean};
  estimate.pair_variance = a.of_run + b.of_run;
  estimate.assumed = a.degrees == 0 || b.degrees == 0;
  double uncertain = 0;
  for (const SideVariance& side : {a, b}) {
    if (side.degrees > 0) uncertain += side.of_mean * side.of_mean / side.degrees;
  }
  const double degrees = uncertain > 0 ? estimate.variance * estimate.variance / uncertain : 0;
  estimate.degrees = static_cast<std::size_t>(degrees > kMostDegrees ? 0 : degrees);
  return estimate;
}

Estimate estimate_of(const MetricSamples& metric) {
  const Side base = side_of(metric.base, metric.floor);
  const Side changed = side_of(metric.changed, metric.floor);
  const auto m = static_cast<double>(base.runs.size());
  const auto n = static_cast<double>(changed.runs.size());
  Estimate estimate{.shift = mean_of(changed.runs) - mean_of(base.runs)};
  const double scale = metric.paired ? 1 / n : (1 / m + 1 / n) / 2;  // from one run per side to all
  double squares = squares_of(base.runs) + squares_of(changed.runs);
  estimate.degrees = base.runs.size() + changed.runs.size() - 2;
  if (metric.paired) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < base.runs.size(); ++i) differences.push_back(changed.runs[i] - base.runs[i]);
    squares = squares_of(differences) / 2;
    estimate.degrees = differences.size() - 1;
  }
  if (estimate.degrees > 0) estimate.pair_variance = 2 * squares / static_cast<double>(estimate.degrees);
  const auto is_floor = [&](double log) { return metric.floor > 0 && log == std::log(metric.floor); };
  const bool unfelt = std::ranges::all_of(base.runs, is_floor) && std::ranges::all_of(changed.runs, is_floor);
  if (estimate.degrees >= kLeastDegrees && m != n && !unfelt) {
    const Estimate by_sides = estimate_by_sides(base, changed);
    if (by_sides.degrees == 0 || by_sides.degrees >= kLeastDegrees) return by_sides;
    estimate.degrees = by_sides.degrees;
  }
  if (estimate.degrees < kLeastDegrees && !unfelt) {
    const double deviation = m + n <= 2 ? kAssumedSingleDeviation : kAssumedRunDeviation;
    const double assumed = 2 * deviation * deviation + base.within + changed.within;
    estimate.pair_variance = std::max(estimate.pair_variance, assumed);
    estimate.degrees = 0;
    estimate.assumed = true;
  }
  estimate.variance = estimate.pair_variance * scale;
  return estimate;
}

/// Which metrics changed at all: the smallest p value is compared with level / m, the next with level / (m - 1), and so
/// on to the first that fails (Holm, Scandinavian Journal of Statistics 6, 1979).
std::vector<bool> changed_at_all(const std::vector<Change>& changes) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].p_value) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return *changes[i].p_value; });
  std::vector<bool> changed(changes.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    if (*changes[order[rank]].p_value > kFalseAlarms / static_cast<double>(order.size() - rank)) break;
    changed[order[rank]] = true;
  }
  return changed;
}

/// How many metrics seem to have changed, each by itself: those whose intervals must be valid together.
double suspected(const std::vector<Change>& changes) {
  const auto count = std::ranges::count_if(
      changes, [](const Change& change) { return change.p_value.value_or(1) <= 2 * kFalseAlarms; });
  return std::max(1.0, static_cast<double>(count));
}

std::vector<double> all_of(const Runs& runs) {
  std::vector<double> all;
  for (const std::vector<double>& run : runs) all.insert(all.end(), run.begin(), run.end());
  return all;
}

/// Of values without ratios: not one of the new is worse than any of the base. Times that are all 0 are such.
bool never_worse(const MetricSamples& metric) {
  constexpr std::size_t kLeast = 9;  // a machine with two modes looks like that by itself in fewer
  const std::vector<double> olds = all_of(metric.base);
  const std::vector<double> news = all_of(metric.changed);
  if (std::min(olds.size(), news.size()) < kLeast) return false;
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::ranges::all_of(olds, finite) || !std::ranges::all_of(news, finite)) return false;
  const auto base = std::ranges::minmax(olds);
  const auto changed = std::ranges::minmax(news);
  return metric.better == Better::higher ? changed.min >= base.max : changed.max <= base.min;
}

/// A rate of which nothing is left.
bool is_lost(const std::vector<double>& run) {
  return std::ranges::all_of(run, [](double value) { return value == 0; });
}

/// Takes lost runs out of both sides of a rate; with pairs, both runs. Returns their number in BASE and in NEW.
std::pair<std::size_t, std::size_t> take_out_lost(MetricSamples& metric) {
  if (metric.better != Better::higher || metric.floor > 0) return {};
  std::pair<std::size_t, std::size_t> lost{std::ranges::count_if(metric.base, is_lost),
                                           std::ranges::count_if(metric.changed, is_lost)};
  for (std::size_t i = 0; metric.paired && i < metric.base.size(); ++i) {
    if (is_lost(metric.base[i]) || is_lost(metric.changed[i])) metric.base[i] = metric.changed[i] = {0};
  }
  std::erase_if(metric.base, is_lost);
  std::erase_if(metric.changed, is_lost);
  return lost;
}

ChangeVerdict verdict_on(const ChangeInterval& interval, bool changed, const MetricSamples& metric) {
  const bool higher = metric.better == Better::higher;
  const double limit = metric.threshold;
  if (changed && (higher ? interval.high < -limit : interval.low > limit)) return ChangeVerdict::regressed;
  if (changed && (higher ? interval.low > limit : interval.high < -limit)) return ChangeVerdict::improved;
  if (higher ? interval.low >= -limit : interval.high <= limit) return ChangeVerdict::pass;
  return ChangeVerdict::inconclusive;
}

/// Runs per side with which a change by twice the threshold is seen in 95 % of calls: both steps see it, and their
/// distances are that many times the deviation. Empty if these are already there, or more than anyone would make.
std::optional<std::uint64_t> runs_needed(const Estimate& estimate, const MetricSamples& metric, std::size_t metrics) {
  constexpr double kMissed = 0.05;
  constexpr std::size_t kMost = 200;
  const double sign = metric.better == Better::higher ? -1 : 1;
  const double whole = std::abs(std::log1p(sign * 2 * metric.threshold));
  const double beyond = whole - std::abs(std::log1p(sign * metric.threshold));
  if (estimate.degrees == 0 || !std::isfinite(whole)) return std::nullopt;
  const double changed_tail = kFalseAlarms / 2 / static_cast<double>(metrics);
  const auto sees = [&](std::size_t runs) {
    const std::size_t degrees = std::max<std::size_t>(metric.paired ? runs - 1 : 2 * runs - 2, 1);
    const double error = std::sqrt(estimate.pair_variance / static_cast<double>(runs));
    const auto distance = [&](double tail) {
      return (student_quantile(tail, degrees) + student_quantile(kMissed, degrees)) * error;
    };
    return distance(kFalseAlarms) <= beyond && distance(changed_tail) <= whole;
  };
  std::size_t runs = std::min(metric.base.size(), metric.changed.size());
  if (sees(runs)) return std::nullopt;
  while (runs < kMost && !sees(runs)) runs += 1 + runs / 20;
  return runs < kMost ? std::optional<std::uint64_t>(runs) : std::nullopt;
}

}  // namespace

double student_tail(double t, std::size_t degrees) {
  if (degrees == 0) return normal_tail(t);
  const double angle = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(angle);
  const bool odd = degrees % 2 == 1;
  double sum = 0;
  double term = odd ? cosine : 1;
  for (std::size_t k = odd ? 3 : 2; k <= degrees; k += 2) {
    sum += term;
    term *= cosine * cosine * static_cast<double>(k - 1) / static_cast<double>(k);
  }
  const double inside = std::sin(angle) * sum;
  return std::max(0.0, (1 - (odd ? (angle + inside) * 2 / std::numbers::pi : inside)) / 2);
}

double student_quantile(double tail, std::size_t degrees) {
  double low = 0;
  double high = 1;
  while (student_tail(high, degrees) > tail) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (student_tail(middle, degrees) > tail ? low : high) = middle;
  }
  return high;
}

std::optional<Interval> prediction_interval(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const Interval shown = by_values(values);
  const double median = summarize(values).median;
  const double drift = kDriftBetweenRuns * std::abs(median);
  const double low = std::min(shown.low, median - drift);
  const bool none_below = std::ranges::min(values) >= 0;
  return Interval{none_below ? std::max(low, 0.0) : low, std::max(shown.high, median + drift)};
}

Change judge_shift(double shift, double variance, std::size_t degrees, Better better, double threshold) {
  const Estimate estimate{.shift = shift, .variance = variance, .degrees = degrees};
  Change change{.ratio = std::expm1(shift), .p_value = 2 * estimate.tail(shift)};
  const double half = student_quantile(kFalseAlarms, degrees) * std::sqrt(variance);
  change.interval = ChangeInterval{std::expm1(shift - half), std::expm1(shift + half), 1 - 2 * kFalseAlarms};
  const MetricSamples metric{.better = better, .threshold = threshold};
  change.verdict = verdict_on(*change.interval, change.p_value <= kFalseAlarms, metric);
  return change;
}

std::vector<Change> judge_changes(std::span<const MetricSamples> all) {
  std::vector<MetricSamples> metrics(all.begin(), all.end());
  std::vector<std::optional<Estimate>> estimates(metrics.size());
  std::vector<Change> changes(metrics.size());
  std::vector<bool> may_pass(metrics.size(), true);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    MetricSamples& metric = metrics[i];
    const std::size_t runs = metric.changed.size();
    const auto [before, now] = take_out_lost(metric);
    may_pass[i] = now <= before;
    if (before == 0 && 2 * now > runs) changes[i].verdict = ChangeVerdict::regressed;
    if (metric.base.empty() || metric.changed.empty() || changes[i].verdict == ChangeVerdict::regressed) continue;
    if (!have_ratios(metric.base, metric.floor) || !have_ratios(metric.changed, metric.floor)) {
      if (may_pass[i] && never_worse(metric)) changes[i].verdict = ChangeVerdict::pass;
      continue;
    }
    const Estimate& estimate = estimates[i].emplace(estimate_of(metric));
    changes[i].ratio = std::expm1(estimate.shift);
    changes[i].p_value = 2 * estimate.tail(estimate.shift);
    changes[i].assumed = estimate.assumed;
  }
  const std::vector<bool> changed = changed_at_all(changes);
  const double divisor = suspected(changes);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (!estimates[i]) continue;
    const Estimate& estimate = *estimates[i];
    const double together = changes[i].assumed ? static_cast<double>(metrics.size()) : changed[i] ? divisor : 1;
    const double tail = kFalseAlarms / together;
    const double half = student_quantile(tail, estimate.degrees) * std::sqrt(estimate.variance);
    changes[i].interval =
        ChangeInterval{std::expm1(estimate.shift - half), std::expm1(estimate.shift + half), 1 - 2 * tail};
    changes[i].verdict = verdict_on(*changes[i].interval, changed[i], metrics[i]);
    if (changes[i].verdict == ChangeVerdict::pass && !may_pass[i]) changes[i].verdict = ChangeVerdict::inconclusive;
    if (changes[i].verdict != ChangeVerdict::inconclusive) continue;
    changes[i].runs_needed = runs_needed(estimate, metrics[i], metrics.size());
  }
  return changes;
}

}  // namespace shardkit::stats
