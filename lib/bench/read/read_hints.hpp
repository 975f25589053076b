#pragma once

#include <span>
#include <string>

#include "bench/input/input_files.hpp"
#include "bench/read/read_passes.hpp"

namespace shardkit::bench {

/// Adds to result.hints what a reader of its numbers should know; `input` is what was found, of which the plan's files
/// are those that were read.
void add_read_hints(const ReadOptions& options, const InputSet& input, const ReadPlan& plan, ReadResult& result);

/// Why reading `files` counted no sample, and what to do: nothing was read, nothing whole, or there are none.
std::string why_no_samples(const ReadOptions& options, std::span<const InputFile> files, const ReadResult& result);

}  // namespace shardkit::bench
