#include "bench/repetition/repetitions.hpp"

#include <algorithm>
#include <numeric>
#include <variant>

#include <fmt/format.h>

#include "core/metric_text.hpp"
#include "core/units.hpp"
#include "stats/comparison.hpp"

namespace shardkit::bench {
namespace {

/// A metric and its values.
struct MetricValues {
  std::string name;
  Unit unit = Unit::none;
  std::vector<double> values;
};

/// The metrics of one more repetition, below `prefix`.
void collect_values(const std::vector<FieldNode>& metrics, const std::string& prefix, bool of_stage,
                    std::vector<MetricValues>& all) {
  for (const FieldNode& node : metrics) {
    if (node.kind == FieldKind::group) {
      const bool is_stage = node.field.comparison && node.field.comparison->role == CompareRole::stage;
      const std::string name = node.name + ".";
      collect_values(node.children, is_stage ? name : prefix + name, of_stage || is_stage, all);
      continue;
    }
    const auto* const value = std::get_if<double>(&node.value);
    if (value == nullptr || (of_stage && node.field.comparison->derived)) continue;
    const std::string name = prefix + node.name;
    auto metric = std::ranges::find(all, name, &MetricValues::name);
    if (metric == all.end()) metric = all.insert(all.end(), {name, node.unit, {}});
    metric->values.push_back(*value);
  }
}

RepeatedMetric repeated_metric(const MetricValues& metric) {
  const stats::Summary summary = stats::summarize(metric.values);
  const auto text = [&](double low, double high) {
    return fmt::format("{} to {}", metric_text(low, metric.unit), metric_text(high, metric.unit));
  };
  RepeatedMetric row{metric.name, summary.median, summary.low, summary.high, stats::prediction_interval(metric.values),
                     {}};
  row.text = fmt::format("{} ({})", metric_text(row.median, metric.unit), text(row.low, row.high));
  if (row.next) row.text += "; the same run again: " + text(row.next->low, row.next->high);
  return row;
}

}  // namespace

std::vector<RepeatedMetric> repeated_metrics(std::string_view verb,
                                             std::span<const std::vector<FieldNode>> repetitions) {
  std::vector<MetricValues> metrics;
  for (const auto& repetition : repetitions) collect_values(repetition, std::string(verb) + ".", false, metrics);
  std::vector<RepeatedMetric> rows;
  for (const MetricValues& metric : metrics) {
    if (metric.values.size() == repetitions.size()) rows.push_back(repeated_metric(metric));
  }
  return rows;
}

std::size_t median_repetition(std::span<const double> rates) {
  std::vector<std::size_t> order(rates.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t repetition) { return rates[repetition]; });
  return order[(order.size() - 1) / 2];
}

Error failed_repetition(const Error& error, std::size_t number, std::uint64_t count) {
  return Error(ErrorCode::io, At{error.path()},
               "repetition {} of {} failed, and the result comes from those before: {}; run again", number, count,
               error.what());
}

void RepeatOption::describe(FieldList& v) {
  constexpr double kMostRepetitions = 1000;
  v.field(
      {"repeat", Unit::count,
       "number of measurements, each from the same page cache state; each metric then has a median and its interval",
       kMayDiffer, between(1, kMostRepetitions)},
      repeat);
}

void RepeatedMetric::describe(FieldList& v) {
  v.field({"metric", "name of the metric, as in compare"}, metric);
  v.field({"median", "median of all repetitions, in the metric's unit"}, median);
  v.field({"low", "lower end of the median's 95 % interval; of the full range if there are fewer than 6 repetitions"},
          low);
  v.field({"high", "upper end"}, high);
  v.field({"next", "expected range for the median of the same run again, in 19 of 20 cases; at least 3 % to each side"},
          next);
  v.field({"text", "the same in words"}, text);
}

}  // namespace shardkit::bench
