#pragma once

#include "bench/pipeline/pipeline.hpp"

namespace shardkit::bench {

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
