#pragma once

#include "core/context.hpp"
#include "gpu/device_jpeg_decoder.hpp"

namespace shardkit::bench {

/// Warns if the hardware decoders that a GPU may have cannot be used, because a library of the driver is missing.
void warn_of_lost_hardware(const gpu::JpegDecoderFacts& facts, Context& context);

}  // namespace shardkit::bench
