#pragma once

#include "bench/pipeline/pipeline.hpp"
#include "bench/pipeline/pipeline_run.hpp"

/// What the pipeline itself costs, apart from what it measures.
namespace shardkit {

/// Runs the pipeline with the threads and batches of `setup` where nothing is read, decoded, copied or computed.
PipelineRun calibrate(const PipelineSetup& setup, Context& context);

/// Its costs, held against those of a run that was measured.
ToolOverhead tool_overhead(const PipelineRun& calibration, const PipelineRun& run);

}  // namespace shardkit
