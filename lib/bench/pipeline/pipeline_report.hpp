#pragma once

#include <cstdint>
#include <vector>

#include "bench/pipeline/pipeline.hpp"
#include "bench/pipeline/pipeline_setup.hpp"

/// Makes the parts of a PipelineResult from runs, and finds the bottleneck from where the threads spend their time.
/// Pure.
namespace shardkit::bench {

/// Shares of the time of each kind of thread.
struct PipelineShares {
  double read = 0;  ///< readers that read
  double unpack = 0;
  double decode = 0;
  double augment = 0;
  double worker_core = 1;      ///< share of a core per worker while it decodes: CPU time divided by time
  double workers_blocked = 0;  ///< share of time that workers waited because of the prefetch limit
  double transfer = 0;
  double device_decode = 0;  ///< of the hand-over thread, while a GPU decodes for it
  double compute = 0;        ///< the step loop's
  double step_starved = 0;   ///< waits for batches except for the first of an epoch, divided by the running time
  double step_waits = 0;     ///< all of the step loop's waits
};

/// The threads with the least idle time are the bottleneck: readers, workers, the hand-over thread, or the step loop.
/// For readers of compressed shards, for workers, and for the hand-over thread if GPUs decode, the stage is what they
/// do most. A prefetch that is too small is not a stage. It is an advice if workers wait for the step while the step
/// waits for them. Another advice is given if workers are the bottleneck but have less than 80 % of a core each: other
/// processes, a CPU limit or too many workers use the rest. With less than half a core each, readers are never the
/// bottleneck, because they wait for cores too. Advice that `advised` has no option for is left out.
PipelineVerdict judge_pipeline(const PipelineShares& shares, std::uint64_t prefetch,
                               AdvisedVerb advised = AdvisedVerb::pipeline);

/// In the order of the stages; unpacking only if something was unpacked.
std::vector<StageRow> stage_rows(const PipelineRun& run);

/// CPU time of all stages' threads divided by the samples used by steps.
double cpu_seconds_per_sample(const PipelineRun& run);

PipelineShares pipeline_shares(const PipelineRun& run);

std::vector<EpochRow> epoch_rows(const PipelineRun& run);

PrefetchRow prefetch_row(const PipelineRun& run);

/// Runs the pipeline with the threads and batches of `setup` but without reading, decoding, copying or computing.
PipelineRun calibrate(const PipelineSetup& setup, Context& context);

/// Its costs, compared with those of a measured run.
ToolOverhead tool_overhead(const PipelineRun& calibration, const PipelineRun& run);

/// The settings that were really used.
void describe_setup(const PipelineOptions& options, const PipelineRun& run, const PipelineSetup& setup,
                    PipelineResult& result);

/// Copies to these GPUs.
CopyReport copy_report(const PipelineRun& run, const std::vector<gpu::Device*>& gpus);

/// Samples by decoder.
JpegReport jpeg_report(const gpu::JpegDecoderFacts& decoder, const LoaderTally& tally);

/// Results of a run, with advice for the verb.
void add_measurement(const PipelineRun& run, AdvisedVerb advised, PipelineResult& result);

}  // namespace shardkit::bench
