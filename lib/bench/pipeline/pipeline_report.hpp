#pragma once

#include <vector>

#include "bench/pipeline/pipeline.hpp"
#include "bench/pipeline/pipeline_setup.hpp"
#include "bench/pipeline/pipeline_verdict.hpp"

/// From a run's sums to the rows of its result. Pure.
///
/// What the pipeline itself costs, apart from what it measures.
///
/// From runs to the parts of a PipelineResult. Pure.
namespace shardkit::bench {

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
CopyReport copy_report(const PipelineOptions& options, const std::vector<gpu::Device*>& gpus, const CopyTally& copies);

/// Who decoded.
JpegReport jpeg_report(const gpu::JpegDecoderFacts& decoder, const LoaderTally& tally);

/// What a run measured.
void add_measurement(const PipelineRun& run, PipelineResult& result);

/// What checkpoints cost, by the same pipeline with them and without; one was due every `every` steps.
CheckpointInterference interference(const PipelineRun& with, const PipelineRun& without, const CheckpointWriter& writer,
                                    std::uint64_t every);

}  // namespace shardkit::bench
