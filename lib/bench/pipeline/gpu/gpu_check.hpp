#pragma once

#include "bench/pipeline/gpu/gpu_sink.hpp"
#include "gpu/device.hpp"

namespace shardkit {

/// Copies a pattern to the GPU and looks at it there; and where the GPU is to finish samples, has it finish some and
/// compares every bit with what the processor makes of them. Throws Error{corrupt} that says what differs.
void check_gpu(Device& device, const GpuSinkSettings& settings);

}  // namespace shardkit
