#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/cache_state.hpp"
#include "bench/machine/neighbors.hpp"
#include "bench/pipeline/batch.hpp"
#include "bench/pipeline/gpu_sink.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/pipeline/step_loop.hpp"
#include "bench/pipeline/trace.hpp"
#include "bench/timing/second_watch.hpp"
#include "core/fields.hpp"

/// Turns options into the settings of loader and step loop.
namespace shardkit::bench {

struct PipelineSetup {
  LoaderSettings loader;  ///< prefetch and readers are set for each run
  StepSettings step;
  std::vector<std::uint64_t> prefetches;  ///< never empty
  AdvisedVerb advised = AdvisedVerb::pipeline;
};

/// Throws Error{usage} for invalid values.
void check_options(const PipelineOptions& options);
PipelineSetup set_up(const PipelineOptions& options);

/// "0,1,2,4" as numbers. Throws Error{usage}.
std::vector<std::uint64_t> parse_prefetches(const std::string& text);

/// Throws Error{no_space} if the batches of the largest prefetch need more than half of the available memory. With GPU
/// decoding, compressed images of `mean_sample_bytes` are included.
void check_batch_memory(const PipelineSetup& setup, double mean_sample_bytes);

/// Bytes of images that may wait for workers: as many images as the prefetched batches, from 1 MiB to 256 MiB, at most
/// an eighth of the memory.
std::uint64_t queue_bytes(const LoaderSettings& settings, double mean_sample_bytes);

/// Results of one run of a pipeline.
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
  Neighbors neighbors{};           ///< meanwhile
  bool out_of_time = false;        ///< the budget ended the reading
};

/// Mean size of an image, if only reading all would show it.
inline constexpr double kGuessedSampleBytes = 128U << 10U;

/// What runs have in common.
struct PipelineInput {
  ImageSource& source;
  BatchSink& sink;
  std::span<const InputFile> files;  ///< files whose share in the page cache is measured; none to measure the overhead
  CacheRequest cache = CacheRequest::any;
  std::uint64_t epochs = 1;
  std::optional<double> budget{};
  double mean_sample_bytes = 0;                 ///< an estimate
  const char* phase = bench::phase::kPipeline;  ///< for progress; a literal
};

/// Of the budget, for each question about the state of the files.
inline constexpr double kShareForAsking = 0.03;

/// Prepares the cache, then runs all epochs, or those until a stop. `trace` may be null. Throws Error{cancelled} on a
/// stop before the first step, and the errors of the stages.
PipelineRun run_pipeline(const PipelineInput& work, LoaderSettings loader, const StepSettings& step, TraceLog* trace,
                         Context& context);

/// The option that needs a GPU, such as "--device"; empty if there is none.
std::optional<std::string_view> option_for_gpu(const PipelineOptions& options);

/// The GPUs that get batches: the listed ones, else the first. None if batches stay in host memory. If there are fewer
/// than the job has, they share its batches, with one warning. Throws Error{unsupported} if a requested GPU is missing.
std::vector<gpu::Device*> choose_gpus(const PipelineOptions& options, const PipelineSetup& setup,
                                      const GpuMachine& machine, Context& context);

/// Decoders for them with --backend nvjpeg, else none. All GPUs must be of one model, because workers do not know which
/// GPU will get an image. Warns if they may lack hardware decoders (warn_of_lost_hardware()). Throws
/// Error{unsupported}.
std::vector<std::unique_ptr<gpu::DeviceJpegDecoder>> open_decoders(const PipelineSetup& setup,
                                                                   const std::vector<gpu::Device*>& gpus,
                                                                   const GpuMachine& machine, Context& context);

}  // namespace shardkit::bench
