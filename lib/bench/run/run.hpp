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
#include "bench/run/run_transfer.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

/// `iobench run`: the whole ladder on one node, ending in a verdict.
namespace shardkit {

/// Which state of the page cache to read from.
enum class RunCache {
  automatic,  ///< cold where that can be had, else direct, else warm where memory and time allow, else any
  cold,
  direct,  ///< past it, by O_DIRECT: storage is measured whatever the cache holds
  warm,
  any,
};
template <>
struct EnumNames<RunCache> {
  static constexpr std::array<std::string_view, 5> names{"auto", "cold", "direct", "warm", "any"};
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

struct RunResult {
  Environment environment;
  ReadResult read;
  std::optional<DecodeResult> decode;      ///< empty when the data holds no images
  std::optional<PipelineResult> pipeline;  ///< empty when nothing is decoded, or whole images are
  std::optional<FileCosts> file_costs;     ///< of files that are no shards
  TransferStage transfer;
  Conclusion conclusion;                  ///< its members stand in the result beside the stages
  std::vector<RepeatedMetric> repeated;   ///< with --repeat: each metric over all turns
  std::optional<ShownTurns> shown_turns;  ///< with --repeat: which turns read, decode and pipeline are of
  std::vector<RunTurn> repetitions;       ///< with --repeat: what each turn measured
  std::string command;                    ///< that repeats it

  /// True when a requirement was given and missed.
  bool has_findings() const { return !conclusion.verdict.ok; }
  void describe(FieldVisitor& v);
};

/// Measures within about `budget` seconds once the files are listed, over as many files as that allows, spread over
/// all. With `repeat` it does so that many times, each time from the same state of the cache as the first; ladder and
/// verdict are then of the medians over all turns, while each stage in the result is of one turn, that with its median
/// rate (`shown_turns`). Without a requirement it says how many GPUs of each preset the node feeds.
RunResult run(const RunOptions& options, Context& context);
/// The same with other GPUs than CUDA's.
RunResult run(const RunOptions& options, const RunGpus& gpus, Context& context);

}  // namespace shardkit
