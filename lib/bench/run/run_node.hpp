#pragma once

#include <cstdint>

#include "bench/run/measured_node.hpp"
#include "bench/run/run.hpp"

namespace shardkit {

/// Of a pipeline's rate; the first of them only fills it.
inline constexpr std::uint64_t kLeastSteps = 5;

/// A pipeline reads through the page cache. Beside direct reading it tells of storage when it found the cache empty.
bool reads_storage_too(const ReadResult& read, const PipelineResult& pipeline);

/// What the stages of a run say of the node that they were measured on. Pure.
MeasuredNode measured_node(const RunResult& result, const RunOptions& options);

}  // namespace shardkit
