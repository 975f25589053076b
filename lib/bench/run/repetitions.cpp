#include "bench/run/repetitions.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "core/metric_text.hpp"
#include "core/units.hpp"
#include "stats/summary.hpp"

namespace shardkit::bench {
namespace {

/// A metric, as compare names it.
struct RepetitionMetric {
  const char* name;
  Unit unit;
};

constexpr std::array kMetrics{
    RepetitionMetric{"run.predicted.samples_per_second", Unit::per_second},
    RepetitionMetric{"read.bytes_per_second", Unit::bytes_per_second},
    RepetitionMetric{"read.latency_seconds.p99", Unit::seconds},
    RepetitionMetric{"decode.samples_per_second", Unit::per_second},
    RepetitionMetric{"pipeline.samples_per_second", Unit::per_second},
    RepetitionMetric{"transfer.pinned_h2d_bytes_per_second", Unit::bytes_per_second},
};

/// The values of these metrics.
std::array<std::optional<double>, kMetrics.size()> values_of(const Repetition& repetition) {
  const auto rate = [](const auto& stage) { return stage ? std::optional(stage->samples_per_second) : std::nullopt; };
  return {repetition.predicted.samples_per_second,
          repetition.read.bytes_per_second,
          repetition.read.latency.p99,
          rate(repetition.decode),
          rate(repetition.pipeline),
          repetition.transfer ? std::optional(repetition.transfer->pinned_h2d) : std::nullopt};
}

RepeatedMetric repeated_metric(const RepetitionMetric& metric, std::span<const double> values) {
  const stats::Summary summary = stats::summarize(values);
  const auto text = [&](double low, double high) {
    return fmt::format("{} to {}", metric_text(low, metric.unit), metric_text(high, metric.unit));
  };
  RepeatedMetric row{metric.name, summary.median, summary.low, summary.high, stats::prediction_interval(values), {}};
  row.text = fmt::format("{} ({})", metric_text(row.median, metric.unit), text(row.low, row.high));
  if (row.next) row.text += "; the same run again: " + text(row.next->low, row.next->high);
  return row;
}

}  // namespace

Repetition repetition_of(const ReadResult& read, const std::optional<DecodeResult>& decode,
                         const std::optional<PipelineResult>& pipeline, const TransferStage& transfer,
                         double predicted_samples) {
  Repetition repetition;
  repetition.read = {read.bytes_per_second, read.samples_per_second, read.latency, read.cache.state};
  if (decode)
    repetition.decode = DecodeRepetition{decode->samples_per_second, decode->samples_per_second_per_core.value_or(0)};
  if (pipeline) repetition.pipeline = SamplesRepetition{pipeline->samples_per_second};
  if (transfer.pinned_h2d) repetition.transfer = TransferRepetition{*transfer.pinned_h2d};
  repetition.predicted.samples_per_second = predicted_samples;
  return repetition;
}

std::vector<RepeatedMetric> repeated_metrics(std::span<const Repetition> repetitions) {
  std::vector<RepeatedMetric> rows;
  for (std::size_t metric = 0; metric < kMetrics.size(); ++metric) {
    std::vector<double> values;
    for (const Repetition& repetition : repetitions) {
      if (const auto value = values_of(repetition)[metric]) values.push_back(*value);
    }
    if (values.size() == repetitions.size()) rows.push_back(repeated_metric(kMetrics[metric], values));
  }
  return rows;
}

std::size_t median_repetition(std::span<const double> rates) {
  std::vector<std::size_t> order(rates.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t repetition) { return rates[repetition]; });
  return order[(order.size() - 1) / 2];
}

void ReadStageRepetition::describe(FieldList& v) {
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes divided by time"}, bytes_per_second);
  v.field({"samples_per_second", Unit::per_second, "samples divided by time"}, samples_per_second);
  v.field({"latency", Unit::seconds, "time of one read"}, latency);
  v.field({"cache_state", "page cache state at the start"}, cache_state);
}

void DecodeRepetition::describe(FieldList& v) {
  v.field({"samples_per_second", Unit::per_second, "images divided by time"}, samples_per_second);
  v.field({"samples_per_second_per_core", Unit::per_second, "images divided by CPU time"}, samples_per_second_per_core);
}

void SamplesRepetition::describe(FieldList& v) {
  v.field({"samples_per_second", Unit::per_second, "samples that all stages together deliver"}, samples_per_second);
}

void TransferRepetition::describe(FieldList& v) {
  v.field({"pinned_h2d", Unit::bytes_per_second, "rate of copying a batch from pinned memory to the slowest GPU"},
          pinned_h2d);
}

void Repetition::describe(FieldList& v) {
  v.field({"read", "reading"}, read);
  v.field({"decode", "decoding"}, decode);
  v.field({"pipeline", "all stages together; measured"}, pipeline);
  v.field({"transfer", "copies of batches to the GPUs"}, transfer);
  v.field({"predicted", "what the node feeds"}, predicted);
}

void ShownRepetitions::describe(FieldList& v) {
  v.field({"read", "number of the repetition, from 1, that provides the result of reading"}, read);
  v.field({"decode", "repetition that provides the result of decoding"}, decode);
  v.field({"pipeline", "repetition that provides the result of the pipeline"}, pipeline);
  v.field({"transfer", "repetition that provides the result of copies to GPUs"}, transfer);
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
