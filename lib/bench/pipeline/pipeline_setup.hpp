#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/cache_state.hpp"
#include "bench/pipeline/batch.hpp"
#include "bench/pipeline/gpu_sink.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/pipeline/step_loop.hpp"
#include "bench/pipeline/trace.hpp"
#include "core/fields.hpp"

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

/// The option that cannot do without a GPU, such as "--sink gpu"; empty where none is given.
std::optional<std::string_view> option_for_gpu(const PipelineOptions& options);

/// The GPUs that take batches, of those that are there: the listed ones, else the first. None where batches stay in
/// host memory. Fewer than the job has share its batches in turn, which is warned of once. Throws Error{unsupported}
/// where one is asked for and not there.
std::vector<gpu::Device*> choose_gpus(const PipelineOptions& options, const PipelineSetup& setup,
                                      const PipelineMachine& machine, Context& context);

/// Decoders for them, where --decode nvjpeg asks for that; else none. They have to be of one model, as workers do not
/// know where an image will go. Throws Error{unsupported}.
std::vector<std::unique_ptr<gpu::DeviceJpegDecoder>> open_decoders(const PipelineSetup& setup,
                                                                   const std::vector<gpu::Device*>& gpus,
                                                                   const PipelineMachine& machine);

/// Memory of a GPU for decoded images: 1 MiB a sample, 64 MiB to 1 GiB, at most a quarter of what is free.
std::uint64_t jpeg_memory(const PipelineSetup& setup, const gpu::Device& gpu);

/// The sink for them; the host's where they are none. Throws as GpuSink does.
std::unique_ptr<BatchSink> make_sink(const PipelineSetup& setup, const std::vector<gpu::Device*>& gpus,
                                     const std::vector<std::unique_ptr<gpu::DeviceJpegDecoder>>& decoders,
                                     const PipelineMachine& machine, Context& context);

/// Throws Error{usage} for options that the ladder sets itself, or that say nothing over several rungs.
void check_ladder(const PipelineOptions& options);

/// Measures the same data on each rung, from the same state of the page cache and with the same seed: naive (pageable
/// memory, nothing made ahead), pinned memory and a batch ahead, normalised on the GPU, decoded there, --prefetch
/// batches ahead so that each stage overlaps the others. Where the page cache may be in any state it is warmed before
/// each. A rung whose library is missing says so; the last one then decodes on the CPU. The result is the last rung's,
/// with all rows.
PipelineResult climb_ladder(const PipelineOptions& options, const InputSet& input, const PipelineMachine& machine,
                            Context& context);

}  // namespace shardkit::bench
