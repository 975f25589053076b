#pragma once

#include "bench/input/input_files.hpp"
#include "bench/read/read_passes.hpp"

namespace shardkit {

/// Adds to result.hints what a reader of its numbers should know; `input` is what was found, of which the plan's files
/// are those that were read.
void add_read_hints(const ReadOptions& options, const InputSet& input, const ReadPlan& plan, ReadResult& result);

}  // namespace shardkit
