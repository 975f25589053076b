#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/decode/decode.hpp"
#include "bench/env/environment.hpp"
#include "bench/model/model.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/read/read.hpp"
#include "bench/run/conclusion.hpp"
#include "bench/run/file_costs.hpp"
#include "bench/run/repetitions.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

/// `iobench run`: the whole ladder on one node, ending in a verdict.
namespace shardkit {

/// Which state of the page cache to read from.
enum class RunCache {
  automatic,  ///< cold where that can be had, else warm where memory and time allow, else any
  cold,
  warm,
  any,
};
template <>
struct EnumNames<RunCache> {
  static constexpr std::array<std::string_view, 4> names{"auto", "cold", "warm", "any"};
};

struct RunOptions {
  std::vector<std::string> paths;
  std::optional<std::string> preset;
  std::optional<std::uint64_t> gpus;
  std::optional<std::uint64_t> batch;
  std::optional<double> step_time;
  std::optional<double> min_au;
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> workers;
  std::uint64_t prefetch = 2;
  std::uint64_t crop = 224;
  TensorType dtype = TensorType::f32;
  RunCache cache = RunCache::automatic;
  double budget = 60;
  std::uint64_t repeat = 1;

  void describe(FieldVisitor& v);
};

/// A stage that this version does not measure, and why.
struct TransferStage {
  bool measured = false;
  std::string text;

  void describe(FieldVisitor& v);
};

struct RunResult {
  Environment environment;
  ReadResult read;
  std::optional<DecodeResult> decode;      ///< empty when the data holds no images
  std::optional<PipelineResult> pipeline;  ///< empty when nothing is decoded, or whole images are
  std::optional<FileCosts> file_costs;     ///< of files that are no shards
  TransferStage transfer;
  Conclusion conclusion;                 ///< its members stand in the result beside the stages
  std::vector<RepeatedMetric> repeated;  ///< with --repeat: each metric over all turns
  std::vector<RunTurn> repetitions;      ///< with --repeat: what each turn measured
  std::string command;                   ///< that repeats it

  /// True when a requirement was given and missed.
  bool has_findings() const { return !conclusion.verdict.ok; }
  void describe(FieldVisitor& v);
};

/// Measures within about `budget` seconds once the files are listed, over as many files as that allows, spread over
/// all. With `repeat` it does so that many times, each time from the same state of the cache as the first; the stages
/// in the result are then those of the turns with the median rate. Without a requirement it says how many GPUs of each
/// preset the node feeds.
RunResult run(const RunOptions& options, Context& context);

}  // namespace shardkit
