#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/cache_state.hpp"
#include "bench/pipeline/loader/batch.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/pipeline/steps/step_loop.hpp"
#include "bench/pipeline/steps/trace.hpp"
#include "core/fields.hpp"
#include "image/tensor_type.hpp"

/// From options to what the loader and the step loop are told.
namespace shardkit::bench {

struct PipelineSetup {
  LoaderSettings loader;  ///< prefetch and readers are set for each run
  StepSettings step;
  std::vector<std::uint64_t> prefetches;  ///< never empty
};

/// Throws Error{usage} for impossible or absurd values.
PipelineSetup set_up(const PipelineOptions& options);

/// "0,1,2,4" as numbers. Throws Error{usage}.
std::vector<std::uint64_t> parse_prefetches(const std::string& text);

/// Throws Error{no_space} when the batches of the largest prefetch take more than half of the memory there is. Those
/// that a GPU decodes hold their compressed images too, of `mean_sample_bytes`.
void check_batch_memory(const PipelineSetup& setup, double mean_sample_bytes);

/// Bytes of images that may wait for workers: as many images as the batches ahead hold, from 1 MiB to 256 MiB or an
/// eighth of the memory.
std::uint64_t queue_bytes(const LoaderSettings& settings, double mean_sample_bytes);

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
  ImageSource& source;
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

}  // namespace shardkit::bench
