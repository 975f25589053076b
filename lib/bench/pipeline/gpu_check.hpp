#pragma once

#include "bench/pipeline/loader.hpp"
#include "gpu/device.hpp"

namespace shardkit::bench {

/// Copies a pattern from such `memory` to the GPU and compares it there; if the GPU finishes samples, finishes some and
/// compares every bit with the result of the CPU. Throws Error{corrupt} that describes the difference.
void check_gpu(gpu::Device& device, gpu::HostMemory memory, const LoaderSettings& settings);

}  // namespace shardkit::bench
