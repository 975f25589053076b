#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/decode/decode.hpp"
#include "bench/machine/cache_state.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/read/read.hpp"
#include "bench/run/run_transfer.hpp"
#include "core/fields.hpp"
#include "stats/comparison.hpp"

/// The values of the repetitions of a run, and their medians.
namespace shardkit::bench {

/// The values of a stage's result for one repetition, with the same names, so that compare finds both.
struct ReadStageRepetition {
  double bytes_per_second = 0;
  std::optional<double> samples_per_second;
  stats::LatencyQuantiles latency;
  CacheState cache_state = CacheState::none;

  void describe(FieldList& v);
};

struct DecodeRepetition {
  double samples_per_second = 0;
  double samples_per_second_per_core = 0;

  void describe(FieldList& v);
};

/// Of all stages together: measured, or predicted.
struct SamplesRepetition {
  double samples_per_second = 0;

  void describe(FieldList& v);
};

struct TransferRepetition {
  double pinned_h2d = 0;

  void describe(FieldList& v);
};

/// One repetition of all stages.
struct Repetition {
  ReadStageRepetition read;
  std::optional<DecodeRepetition> decode;
  std::optional<SamplesRepetition> pipeline;
  std::optional<TransferRepetition> transfer;
  SamplesRepetition predicted;

  void describe(FieldList& v);
};

/// The repetitions, counted from 1, that provide the stages of a result: those with the median rate.
struct ShownRepetitions {
  std::uint64_t read = 1;
  std::optional<std::uint64_t> decode;
  std::optional<std::uint64_t> pipeline;
  std::optional<std::uint64_t> transfer;

  void describe(FieldList& v);
};

/// A metric over all repetitions.
struct RepeatedMetric {
  std::string metric;  ///< as compare names it
  double median = 0;
  double low = 0;  ///< of the median's 95 % interval (stats/summary.hpp)
  double high = 0;
  std::optional<stats::Interval> next;
  std::string text;

  void describe(FieldList& v);
};

Repetition repetition_of(const ReadResult& read, const std::optional<DecodeResult>& decode,
                         const std::optional<PipelineResult>& pipeline, const TransferStage& transfer,
                         double predicted_samples);

/// One row per metric that all repetitions have.
std::vector<RepeatedMetric> repeated_metrics(std::span<const Repetition> repetitions);

/// The repetition with the median rate: the lower of the two in the middle for an even number. Requires at least one
/// rate.
std::size_t median_repetition(std::span<const double> rates);

}  // namespace shardkit::bench
