#pragma once

#include "bench/pipeline/pipeline.hpp"
#include "bench/pipeline/pipeline_run.hpp"

/// From runs to the parts of a PipelineResult. Pure.
namespace shardkit {

/// What was asked for, as it was carried out.
void describe_setup(const PipelineOptions& options, const PipelineRun& run, const PipelineSetup& setup,
                    PipelineResult& result);

/// What was copied to these GPUs.
CopyReport copy_report(const PipelineOptions& options, const std::vector<Device*>& gpus, const CopyTally& copies);

/// Who decoded.
JpegReport jpeg_report(const JpegDecoderFacts& decoder, const LoaderTally& tally);

/// What a run measured.
void add_measurement(const PipelineRun& run, PipelineResult& result);

/// What checkpoints cost, by the same pipeline with them and without; one was due every `every` steps.
CheckpointInterference interference(const PipelineRun& with, const PipelineRun& without, const CheckpointWriter& writer,
                                    std::uint64_t every);

}  // namespace shardkit
