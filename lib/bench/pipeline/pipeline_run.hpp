#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bench/pipeline/pipeline_setup.hpp"
#include "bench/pipeline/steps/checkpoint_writer.hpp"
#include "bench/pipeline/timing/trace_log.hpp"

namespace shardkit {

/// What one run of a pipeline left.
struct PipelineRun {
  LoaderSettings loader;
  LoaderTally tally;
  StepLog log;
  std::vector<StepLog> epochs;
  std::vector<std::optional<double>> residency;  ///< before each epoch
  std::optional<double> residency_after;
  ActivityTimes step_times;
  CopyTally copies{};
  double process_cpu_seconds = 0;  ///< while epochs ran
  bool out_of_time = false;        ///< the budget ended the reading
};

/// Mean size of an image where only reading all would tell.
inline constexpr double kGuessedSampleBytes = 128U << 10U;

/// What runs have in common.
struct PipelineWork {
  SampleSource& source;
  BatchSink& sink;
  std::span<const InputFile> files;  ///< whose residency is asked for; none for a null source
  CacheRequest cache = CacheRequest::any;
  std::uint64_t epochs = 1;
  std::optional<double> budget{};
  double mean_sample_bytes = 0;  ///< an estimate
};

/// Brings the cache into the state asked for, then runs all epochs. `checkpoints` and `trace` may be null. Throws
/// Error{cancelled} on a stop and what the stages throw.
PipelineRun run_pipeline(const PipelineWork& work, LoaderSettings loader, const StepSettings& step,
                         CheckpointWriter* checkpoints, TraceLog* trace, Context& context);

}  // namespace shardkit
