#include "stats/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/rank_test.hpp"

namespace shardkit {
namespace {

/// A metric on its way: logarithms of both sides, empty where there are none.
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

/// Which metrics changed at all: the smallest p value is held against level / m, the next against level / (m - 1), and
/// so on to the first that fails (Holm, Scandinavian Journal of Statistics 6, 1979).
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

/// How many metrics look as if they changed, each by itself: those whose intervals must hold together.
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

}  // namespace shardkit
