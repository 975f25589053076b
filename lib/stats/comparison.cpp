#include "stats/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace shardkit::stats {
namespace {

constexpr std::size_t kMostExact = 50;

/// P(Z > z) of the normal distribution.
double normal_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

/// probabilities[u] of U being u if nothing differs: of all ways to choose m of m + n ranks, how many have the rank sum
/// u + m (m + 1) / 2. Counted rank by rank; doubles are exact enough, because nothing is subtracted.
std::vector<double> u_probabilities(std::size_t m, std::size_t n) {
  // ways[k][u]: k ranks chosen among those seen, each i-th of them counted by how far it is above i.
  std::vector<std::vector<double>> ways(m + 1, std::vector<double>(m * n + 1));
  ways[0][0] = 1;
  for (std::size_t rank = 0; rank < m + n; ++rank) {
    for (std::size_t k = std::min(rank + 1, m); k > 0; --k) {
      const std::size_t above = rank - (k - 1);
      if (above > n) continue;
      for (std::size_t u = 0; u + above <= m * n; ++u) ways[k][u + above] += ways[k - 1][u];
    }
  }
  double total = 0;
  for (const double way : ways[m]) total += way;
  for (double& way : ways[m]) way /= total;
  return std::move(ways[m]);
}

std::vector<double> merged(std::span<const double> base, std::span<const double> changed) {
  std::vector<double> all(base.begin(), base.end());
  all.insert(all.end(), changed.begin(), changed.end());
  std::sort(all.begin(), all.end());
  return all;
}

/// Sum of t^3 - t over the groups of t equal values.
double tie_sum(const std::vector<double>& sorted) {
  double sum = 0;
  for (std::size_t i = 0, next = 0; i < sorted.size(); i = next) {
    while (next < sorted.size() && sorted[next] == sorted[i]) ++next;
    const auto t = static_cast<double>(next - i);
    sum += t * t * t - t;
  }
  return sum;
}

/// Pairs in which `changed` is the larger; equal ones count half.
double u_of(std::span<const double> base, std::span<const double> changed) {
  double u = 0;
  for (const double b : base) {
    for (const double c : changed) u += c > b ? 1 : c == b ? 0.5 : 0;
  }
  return u;
}

double exact_p(double u, std::size_t m, std::size_t n) {
  const std::vector<double> probabilities = u_probabilities(m, n);
  const auto less = static_cast<std::size_t>(std::min(u, static_cast<double>(m * n) - u));
  double tail = 0;
  for (std::size_t i = 0; i <= less; ++i) tail += probabilities[i];
  return std::min(2 * tail, 1.0);
}

double approximate_p(double u, double m, double n, double ties) {
  const double all = m + n;
  const double variance = m * n / 12 * (all + 1 - ties / (all * (all - 1)));
  if (!(variance > 0)) return 1;
  const double distance = std::max(std::abs(u - m * n / 2) - 0.5, 0.0);
  return std::min(2 * normal_tail(distance / std::sqrt(variance)), 1.0);
}

/// How many of the sorted differences lie below the interval's end.
std::size_t cut_differences(std::size_t m, std::size_t n, double tail) {
  if (m <= kMostExact && n <= kMostExact) {
    const std::vector<double> probabilities = u_probabilities(m, n);
    double sum = 0;
    for (std::size_t u = 0; u < probabilities.size() / 2; ++u) {
      sum += probabilities[u];
      if (sum > tail) return u;
    }
    return probabilities.size() / 2;
  }
  const auto pairs = static_cast<double>(m) * static_cast<double>(n);
  const double deviation = std::sqrt(pairs * static_cast<double>(m + n + 1) / 12);
  std::size_t cut = 0;
  while (normal_tail((pairs / 2 - static_cast<double>(cut) - 0.5) / deviation) <= tail) ++cut;
  return cut;
}

std::vector<double> sorted_differences(std::span<const double> base, std::span<const double> changed) {
  std::vector<double> differences;
  differences.reserve(base.size() * changed.size());
  for (const double b : base) {
    for (const double c : changed) differences.push_back(c - b);
  }
  std::sort(differences.begin(), differences.end());
  return differences;
}

double median_of(const std::vector<double>& sorted) {
  if (sorted.empty()) return 0;
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

constexpr double kMiss = 0.025;  // at each end

/// For Student's t with 1, 2, ... degrees of freedom: exceeded in 2.5 % of cases.
constexpr std::array kStudent = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646};

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

/// Never narrower than the observed range: the median of two modes jumps from one to the other.
Interval by_student(std::span<const double> values) {
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

/// Judged by the values themselves.
Interval by_values(std::span<const double> values) {
  const std::size_t rank = lower_rank(values.size());
  if (rank == 0) return by_student(values);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return {sorted[rank - 1], sorted[sorted.size() - rank]};
}

/// A metric during the comparison: logarithms of both sides, empty if there are none.
struct Logs {
  std::vector<double> base;
  std::vector<double> changed;
};

bool have_ratios(std::span<const double> values, double floor) {
  return std::ranges::all_of(
      values, [floor](double value) { return (value > 0 || (value == 0 && floor > 0)) && std::isfinite(value); });
}

std::vector<double> logarithms(std::span<const double> values, double floor) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) logs.push_back(std::log(std::max(value, floor)));
  return logs;
}

Logs logs_of(const MetricSamples& metric) {
  if (metric.base.empty() || metric.changed.empty()) return {};
  if (!have_ratios(metric.base, metric.floor) || !have_ratios(metric.changed, metric.floor)) return {};
  return {logarithms(metric.base, metric.floor), logarithms(metric.changed, metric.floor)};
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

/// Of values without ratios: not one of the new is worse than any of the base. Times that are all 0 are such.
bool never_worse(const MetricSamples& metric) {
  if (std::min(metric.base.size(), metric.changed.size()) < kLeastRepetitions) return false;
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::ranges::all_of(metric.base, finite) || !std::ranges::all_of(metric.changed, finite)) return false;
  const auto base = std::ranges::minmax(metric.base);
  const auto changed = std::ranges::minmax(metric.changed);
  return metric.better == Better::higher ? changed.min >= base.max : changed.max <= base.min;
}

ChangeVerdict verdict_on(const ChangeInterval& interval, bool changed, const MetricSamples& metric) {
  const bool higher = metric.better == Better::higher;
  const double limit = metric.threshold;
  if (changed && (higher ? interval.high < -limit : interval.low > limit)) return ChangeVerdict::regressed;
  if (changed && (higher ? interval.low > limit : interval.high < -limit)) return ChangeVerdict::improved;
  if (higher ? interval.low >= -limit : interval.high <= limit) return ChangeVerdict::pass;
  return ChangeVerdict::inconclusive;
}

}  // namespace

double mann_whitney_p(std::span<const double> base, std::span<const double> changed) {
  if (base.empty() || changed.empty()) return 1;
  const double ties = tie_sum(merged(base, changed));
  const double u = u_of(base, changed);
  if (ties == 0 && base.size() <= kMostExact && changed.size() <= kMostExact) {
    return exact_p(u, base.size(), changed.size());
  }
  return approximate_p(u, static_cast<double>(base.size()), static_cast<double>(changed.size()), ties);
}

std::optional<Shift> rank_shift(std::span<const double> base, std::span<const double> changed, double tail) {
  if (base.empty() || changed.empty()) return std::nullopt;
  const std::size_t cut = cut_differences(base.size(), changed.size(), tail);
  if (cut == 0) return std::nullopt;
  const std::vector<double> differences = sorted_differences(base, changed);
  return Shift{median_of(differences), differences[cut - 1], differences[differences.size() - cut]};
}

double rank_shift_estimate(std::span<const double> base, std::span<const double> changed) {
  return median_of(sorted_differences(base, changed));
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

std::vector<Change> judge_changes(std::span<const MetricSamples> metrics) {
  std::vector<Logs> logs;
  std::vector<Change> changes(metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    logs.push_back(logs_of(metrics[i]));
    if (logs[i].base.empty()) {
      if (never_worse(metrics[i])) changes[i].verdict = ChangeVerdict::pass;
      continue;
    }
    changes[i].ratio = std::expm1(rank_shift_estimate(logs[i].base, logs[i].changed));
    changes[i].p_value = mann_whitney_p(logs[i].base, logs[i].changed);
  }
  const std::vector<bool> changed = changed_at_all(changes);
  const double divisor = suspected(changes);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const double tail = changed[i] ? kFalseAlarms / divisor : kFalseAlarms;
    const auto shift = rank_shift(logs[i].base, logs[i].changed, tail);
    if (!shift) continue;
    changes[i].interval = ChangeInterval{std::expm1(shift->low), std::expm1(shift->high), 1 - 2 * tail};
    if (std::min(logs[i].base.size(), logs[i].changed.size()) < kLeastRepetitions) continue;
    changes[i].verdict = verdict_on(*changes[i].interval, changed[i], metrics[i]);
  }
  return changes;
}

}  // namespace shardkit::stats
