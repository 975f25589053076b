#pragma once

#include <cstdint>
#include <vector>

#include "bench/pipeline/pipeline.hpp"
#include "bench/pipeline/pipeline_setup.hpp"

/// From runs to the parts of a PipelineResult, and which stage sets the pace by where its threads spend their time.
/// Pure.
namespace shardkit::bench {

/// Shares of the time of each kind of thread.
struct PipelineShares {
  double read = 0;  ///< readers that read
  double decode = 0;
  double augment = 0;
  double worker_core = 1;      ///< of a core that a worker has while it decodes: its processor time over the time
  double workers_blocked = 0;  ///< workers without leave to make more samples
  double transfer = 0;
  double device_decode = 0;  ///< the thread that hands over, while a GPU decodes for it
  double compute = 0;        ///< the step loop's
  double checkpoint = 0;
  double step_starved = 0;  ///< waits for batches but for the first of an epoch, over the running time
  double step_waits = 0;    ///< all of the step loop's waits
};

/// The threads with the least idle time set the pace: readers, workers, the one that hands over, or the step loop. Of
/// workers, and of the thread that hands over where GPUs decode, it is what they do most; of the step loop it is
/// computing, unless checkpoints take more than a twentieth of its time. A prefetch that is too small is never a stage:
/// it shows as workers that wait for the step while the step waits for them, and becomes an advice. So do workers that
/// set the pace and have less than four fifths of a core each: others, a CPU limit or too many workers take the rest.
/// With less than half a core each readers never set the pace: they wait for cores as well.
PipelineVerdict judge_pipeline(const PipelineShares& shares, std::uint64_t prefetch);

/// In the order that samples pass the stages, checkpoints last.
std::vector<StageRow> stage_rows(const PipelineRun& run);

/// Processor time of all stages' threads over the samples that steps took.
double cpu_seconds_per_sample(const PipelineRun& run);

PipelineShares pipeline_shares(const PipelineRun& run);

std::vector<EpochRow> epoch_rows(const PipelineRun& run);

PrefetchRow prefetch_row(const PipelineRun& run);

/// Runs the pipeline with the threads and batches of `setup` where nothing is read, decoded, copied or computed.
PipelineRun calibrate(const PipelineSetup& setup, Context& context);

/// Its costs, held against those of a run that was measured.
ToolOverhead tool_overhead(const PipelineRun& calibration, const PipelineRun& run);

/// What was asked for, as it was carried out.
void describe_setup(const PipelineOptions& options, const PipelineRun& run, const PipelineSetup& setup,
                    PipelineResult& result);

/// What was copied to these GPUs.
CopyReport copy_report(const PipelineRun& run, const std::vector<gpu::Device*>& gpus);

/// Who decoded.
JpegReport jpeg_report(const gpu::JpegDecoderFacts& decoder, const LoaderTally& tally);

/// What a run measured.
void add_measurement(const PipelineRun& run, PipelineResult& result);

/// What checkpoints cost, by the same pipeline with them and without; one was due every `every` steps.
CheckpointInterference interference(const PipelineRun& with, const PipelineRun& without, const CheckpointWriter& writer,
                                    std::uint64_t every);

}  // namespace shardkit::bench
