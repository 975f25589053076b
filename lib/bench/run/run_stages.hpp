#pragma once

#include <cstdint>

#include "bench/input/input_files.hpp"
#include "bench/run/run.hpp"
#include "core/context.hpp"

namespace shardkit::bench {

/// Of the budget after listing, which measure_stages() leaves for copying batches to the GPUs.
inline constexpr double kShareForTransfer = 0.04;

/// Measures the stages once, each within its share of options.budget, into `result`: reading, decoding and augmenting,
/// reading like PyTorch's loader, then all as a pipeline. Compressed shards are read as they are stored, and unpacked
/// as a stage of their own. `input` is spread. `cores` are available. Throws Error{not_found} if there are no samples,
/// or no JPEGs for a preset that needs them, Error{corrupt} if none of the job's images can be decoded, Error{usage} if
/// no complete one was read in time.
void measure_stages(const RunOptions& options, const InputSet& input, std::uint64_t cores, Context& context,
                    RunResult& result);

}  // namespace shardkit::bench
