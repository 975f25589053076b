#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/decode/decode.hpp"
#include "bench/env/environment.hpp"
#include "bench/model/model.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/read/read.hpp"
#include "bench/run/conclusion.hpp"
#include "bench/run/repetitions.hpp"
#include "bench/run/run_stages.hpp"
#include "bench/run/run_transfer.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

/// `iobench run`: the whole ladder on one node, ending in a verdict.
///
/// What a run warns of once it has measured, each about one thing that keeps its figures from meaning what they seem
/// to.
namespace shardkit::bench {

/// Which state of the page cache to read from.
enum class RunCache {
  automatic,  ///< cold where that can be had, else direct, else warm where memory and time allow, else any
  cold,
  direct,  ///< past it, by O_DIRECT: storage is measured whatever the cache holds
  warm,
  any,
};
constexpr auto enum_names(RunCache) {
  return std::to_array<std::string_view>({"auto", "cold", "direct", "warm", "any"});
}

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
  image::TensorType dtype = image::TensorType::f32;
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

/// Hints stay in the result; the room in /dev/shm is judged later, against the loader that comes of it.
void warn_of_environment(const Environment& environment, Context& context);

/// Loader processes and their batches that the machine has no room for.
void warn_of_loader(const RunOptions& options, const RunResult& result, Context& context);

/// Stages that are slower together than each alone predicts, or faster, share something that the prediction does not
/// know, or one of them was not steady.
void warn_of_pipeline(const RunResult& result, Context& context);

/// Once for all turns, where the pipeline of one made too few steps for a rate, so that none is in the ladder.
void warn_of_steps(std::span<const RunResult> turns, Context& context);

/// Images that cannot be decoded, with their share.
void warn_of_failures(const RunResult& result, Context& context);

}  // namespace shardkit::bench
