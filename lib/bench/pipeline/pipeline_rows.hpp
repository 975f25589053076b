#pragma once

#include <vector>

#include "bench/pipeline/pipeline_run.hpp"
#include "bench/pipeline/pipeline_verdict.hpp"

/// From a run's sums to the rows of its result. Pure.
namespace shardkit {

/// In the order that samples pass the stages, checkpoints last.
std::vector<StageRow> stage_rows(const PipelineRun& run);

/// Processor time of all stages' threads over the samples that steps took.
double cpu_seconds_per_sample(const PipelineRun& run);

PipelineShares pipeline_shares(const PipelineRun& run);

std::vector<EpochRow> epoch_rows(const PipelineRun& run);

PrefetchRow prefetch_row(const PipelineRun& run);

}  // namespace shardkit
