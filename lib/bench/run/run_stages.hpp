#pragma once

#include <cstdint>

#include "bench/input/input_files.hpp"
#include "bench/run/run.hpp"
#include "core/context.hpp"

namespace shardkit {

/// Measures the stages once, each within its share of options.budget, into `result`: reading, what files cost, decoding
/// and augmenting, then all of it as a pipeline. `input` is spread. `cores` may be kept busy. Throws Error{not_found}
/// where there are no samples, or no JPEGs for a preset of such, Error{corrupt} where none of the images that the job
/// is of can be decoded, Error{usage} when no whole one comes in that time.
void measure_stages(const RunOptions& options, const InputSet& input, std::uint64_t cores, Context& context,
                    RunResult& result);

}  // namespace shardkit
