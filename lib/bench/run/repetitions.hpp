#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/decode/decode.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/read/read.hpp"
#include "bench/run/run_transfer.hpp"
#include "core/fields.hpp"
#include "stats/comparison.hpp"

/// `iobench run --repeat N`: the turns of a run, and what they tell together.
namespace shardkit::bench {

/// What of a stage's result stands for one turn, under the names that it has there, so that compare finds both alike.
struct ReadTurn {
  double bytes_per_second = 0;
  std::optional<double> samples_per_second;
  stats::LatencyQuantiles latency;
  std::string cache_state;

  void describe(FieldVisitor& v);
};

struct DecodeTurn {
  double samples_per_second = 0;
  double samples_per_second_per_core = 0;

  void describe(FieldVisitor& v);
};

struct PipelineTurn {
  double samples_per_second = 0;

  void describe(FieldVisitor& v);
};

struct TransferTurn {
  double pinned_h2d = 0;

  void describe(FieldVisitor& v);
};

struct PredictedTurn {
  double samples_per_second = 0;

  void describe(FieldVisitor& v);
};

/// One turn: all stages once.
struct RunTurn {
  ReadTurn read;
  std::optional<DecodeTurn> decode;
  std::optional<PipelineTurn> pipeline;
  std::optional<TransferTurn> transfer;
  PredictedTurn predicted;

  void describe(FieldVisitor& v);
};

/// Which turns, counted from 1, the stages of a result are of: those with the median rate.
struct ShownTurns {
  std::uint64_t read = 1;
  std::optional<std::uint64_t> decode;
  std::optional<std::uint64_t> pipeline;
  std::optional<std::uint64_t> transfer;

  void describe(FieldVisitor& v);
};

/// A metric over all turns.
struct RepeatedMetric {
  std::string metric;  ///< as compare names it
  double median = 0;
  double low = 0;  ///< of the median's 95 % interval (stats/summary.hpp)
  double high = 0;
  std::optional<stats::PredictionInterval> next;
  std::string text;

  void describe(FieldVisitor& v);
};

RunTurn run_turn(const ReadResult& read, const std::optional<DecodeResult>& decode,
                 const std::optional<PipelineResult>& pipeline, const TransferStage& transfer,
                 double predicted_samples);

/// One row for each metric that all turns have.
std::vector<RepeatedMetric> repeated_metrics(std::span<const RunTurn> turns);

/// The turn whose rate is the median: the lower of the two in the middle where their number is even. Not for no rates.
std::size_t median_turn(std::span<const double> rates);

}  // namespace shardkit::bench
