#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/decode/decode.hpp"
#include "bench/env/env.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/read/read.hpp"
#include "bench/repetition/repetitions.hpp"
#include "bench/run/run_summary.hpp"
#include "bench/run/run_transfer.hpp"
#include "bench/start/common_start.hpp"
#include "bench/timing/second_watch.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "core/fields.hpp"

/// `iobench run`: all stages on one node, ending in a verdict. With --repeat, several repetitions and their
/// statistics.
namespace shardkit::bench {

/// Page cache state to read from.
enum class RunCache {
  automatic,  ///< the first available of cold, direct, warm, any
  cold,
  direct,  ///< bypass it with O_DIRECT: storage is measured whatever the cache contains
  warm,
  any,
};
constexpr auto enum_names(RunCache) {
  return std::to_array<std::string_view>({"auto", "cold", "direct", "warm", "any"});
}

struct RunOptions : JobOptions, RepeatOption {
  std::vector<std::string> paths;
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> workers;
  std::uint64_t prefetch = 2;
  std::uint64_t crop = 224;
  image::TensorType dtype = image::TensorType::f32;
  RunCache cache = RunCache::automatic;
  double budget = 60;
  bool force_verdict = false;
  std::optional<std::string> python;
  CommonStartOptions start = {};
  catalog::StoreAccess access = {};

  void describe(FieldList& v);
};

/// The stages of one repetition, whose metrics are in the result.
struct RunRepetition {
  ReadResult read;
  std::optional<DecodeResult> decode;
  std::optional<PipelineResult> pipeline;  ///< empty too if it made too few steps for a rate
  TransferStage transfer;
  PredictedSupply predicted;

  void describe(FieldList& v);
};

struct RunResult : Repeated<RunRepetition> {
  Environment environment;
  ReadResult read;
  std::optional<DecodeResult> decode;      ///< empty if the data contains no images
  std::optional<PipelineResult> pipeline;  ///< empty if nothing is decoded, or whole images are
  std::optional<MoreReaders> more_readers;
  std::optional<UnpackCosts> unpack;       ///< for compressed shards
  std::optional<FileCosts> file_costs;     ///< for files that are not shards
  std::optional<Calibration> calibration;  ///< with --python
  std::optional<LoaderData> loader_data;   ///< once looked at; not in the result, but `summary` has what follows
  SampleWork sample_work;
  LoaderReads loader_reads;
  TransferStage transfer;
  Neighbors neighbors;
  RunSummary summary;              ///< its members are in the result next to the stages
  CommonStart start;               ///< of the first repetition, beside other nodes
  std::vector<SecondRow> seconds;  ///< what was done in each second
  std::string command;             ///< command that repeats it
  bool interrupted = false;        ///< then only the stages or repetitions before are in the result

  /// True if a requirement was given and missed.
  bool has_findings() const { return !summary.verdict.ok.value_or(true); }
  /// Throws `failure`, and Error{in_use} if the verdict on a requirement is undecided.
  void throw_if_failed() const;
  void describe(FieldList& v);
};

/// Measures for `budget` seconds with as many files as that allows, spread over all; it may take two seconds longer.
/// With `repeat`, it repeats this from the same cache state as the first time. The table of stages and the verdict then
/// use the medians over all repetitions, while each stage in the result is from the one with its median rate. Without a
/// requirement it reports how many GPUs of each preset the node feeds.
RunResult run(const RunOptions& options, Context& context);
/// The same with other GPUs than those of CUDA.
RunResult run(const RunOptions& options, const GpuMachine& gpus, Context& context);

/// Warns once for all repetitions if the pipeline of one made too few steps for a rate, so that the table of stages has
/// none.
void warn_of_steps(std::span<const RunResult> repetitions, Context& context);

}  // namespace shardkit::bench
