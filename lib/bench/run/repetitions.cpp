#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "bench/results/result_file.hpp"
#include "bench/run/run.hpp"
#include "stats/summary.hpp"

namespace shardkit::bench {
namespace {

/// A figure that turns have, by the name that compare has for it.
struct TurnMetric {
  const char* name;
  Unit unit;
  std::optional<double> (*value)(const RunTurn& turn);
};

using Value = std::optional<double>;

constexpr std::array kMetrics{
    TurnMetric{"run.predicted.samples_per_second", Unit::per_second,
               [](const RunTurn& turn) { return Value(turn.predicted.samples_per_second); }},
    TurnMetric{"read.bytes_per_second", Unit::bytes_per_second,
               [](const RunTurn& turn) { return Value(turn.read.bytes_per_second); }},
    TurnMetric{"read.latency_seconds.p99", Unit::seconds,
               [](const RunTurn& turn) { return Value(turn.read.latency.p99); }},
    TurnMetric{"decode.samples_per_second", Unit::per_second,
               [](const RunTurn& turn) { return turn.decode ? Value(turn.decode->samples_per_second) : Value(); }},
    TurnMetric{"pipeline.samples_per_second", Unit::per_second,
               [](const RunTurn& turn) { return turn.pipeline ? Value(turn.pipeline->samples_per_second) : Value(); }},
    TurnMetric{"transfer.pinned_h2d_bytes_per_second", Unit::bytes_per_second,
               [](const RunTurn& turn) { return turn.transfer ? Value(turn.transfer->pinned_h2d) : Value(); }},
};

RepeatedMetric repeated_metric(const TurnMetric& metric, std::span<const double> values) {
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

RunTurn run_turn(const ReadResult& read, const std::optional<DecodeResult>& decode,
                 const std::optional<PipelineResult>& pipeline, const TransferStage& transfer,
                 double predicted_samples) {
  RunTurn turn;
  turn.read = {read.bytes_per_second, read.samples_per_second, read.latency, read.cache.state};
  if (decode) turn.decode = DecodeTurn{decode->samples_per_second, decode->samples_per_second_per_core.value_or(0)};
  if (pipeline) turn.pipeline = SamplesTurn{pipeline->samples_per_second};
  if (transfer.pinned_h2d) turn.transfer = TransferTurn{*transfer.pinned_h2d};
  turn.predicted.samples_per_second = predicted_samples;
  return turn;
}

std::vector<RepeatedMetric> repeated_metrics(std::span<const RunTurn> turns) {
  std::vector<RepeatedMetric> rows;
  for (const TurnMetric& metric : kMetrics) {
    std::vector<double> values;
    for (const RunTurn& turn : turns) {
      if (const auto value = metric.value(turn)) values.push_back(*value);
    }
    if (values.size() == turns.size()) rows.push_back(repeated_metric(metric, values));
  }
  return rows;
}

std::size_t median_turn(std::span<const double> rates) {
  std::vector<std::size_t> order(rates.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t turn) { return rates[turn]; });
  return order[(order.size() - 1) / 2];
}

void ReadTurn::describe(FieldVisitor& v) {
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over time"}, bytes_per_second);
  v.field({"samples_per_second", Unit::per_second, "samples over time"}, samples_per_second);
  v.field({"latency", Unit::seconds, "time of one read"}, latency);
  v.field({"cache_state", "state of the page cache it started from"}, cache_state);
}

void DecodeTurn::describe(FieldVisitor& v) {
  v.field({"samples_per_second", Unit::per_second, "images over time"}, samples_per_second);
  v.field({"samples_per_second_per_core", Unit::per_second, "images per second of processor time"},
          samples_per_second_per_core);
}

void SamplesTurn::describe(FieldVisitor& v) {
  v.field({"samples_per_second", Unit::per_second, "samples of all stages together"}, samples_per_second);
}

void TransferTurn::describe(FieldVisitor& v) {
  v.field({"pinned_h2d", Unit::bytes_per_second, "a batch from pinned memory to the slowest GPU"}, pinned_h2d);
}

void RunTurn::describe(FieldVisitor& v) {
  v.field({"read", "reading"}, read);
  v.field({"decode", "decoding"}, decode);
  v.field({"pipeline", "the stages together; measured"}, pipeline);
  v.field({"transfer", "batches to the GPUs"}, transfer);
  v.field({"predicted", "the stages together; predicted"}, predicted);
}

void ShownTurns::describe(FieldVisitor& v) {
  v.field({"read", "turn, from 1, whose reading is in the result"}, read);
  v.field({"decode", "whose decoding is"}, decode);
  v.field({"pipeline", "whose pipeline is"}, pipeline);
  v.field({"transfer", "whose copies to GPUs are"}, transfer);
}

void RepeatedMetric::describe(FieldVisitor& v) {
  v.field({"metric", "as compare names it"}, metric);
  v.field({"median", "of all turns, in the metric's unit"}, median);
  v.field({"low", "lower end of the median's 95 % interval; of fewer than 6 turns, of their range"}, low);
  v.field({"high", "upper end"}, high);
  v.field({"next", "where the median of the same run again will lie, in 19 of 20 cases; 3 % to each side at least"},
          next);
  v.field({"text", "the same in words"}, text);
}

}  // namespace shardkit::bench
