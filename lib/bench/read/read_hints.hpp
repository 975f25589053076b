#pragma once

#include <span>
#include <string>

#include "bench/read/read.hpp"
#include "bench/read/read_work.hpp"

namespace shardkit::bench {

/// Adds hints about its values to the result; `input` is what was found, the plan's files are those that were read.
void add_read_hints(const ReadOptions& options, const InputSet& input, const ReadPlan& plan, ReadResult& result);

/// Why samples of sequential reads are not counted, and what to do.
std::string why_not_counted(const ReadOptions& options, std::span<const InputFile> files);

/// Why reading `files` counted no sample, and what to do: nothing was read, no complete sample, or there are none.
std::string why_no_samples(const ReadOptions& options, std::span<const InputFile> files, const ReadResult& result);

}  // namespace shardkit::bench
