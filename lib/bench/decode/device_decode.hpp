#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bench/decode/decode.hpp"
#include "gpu/device_jpeg_decoder.hpp"

namespace shardkit {

/// What decoding on a GPU works with. Borrowed.
struct DecodeMachine {
  std::vector<Device*> devices;
  std::function<std::unique_ptr<DeviceJpegDecoder>(const Device&, unsigned threads)> open_decoder;
};

/// decode() with --backend nvjpeg: compares pixels with libjpeg-turbo's, then decodes in batches over and over; what
/// the GPU does not take is decoded by threads of the CPU meanwhile. Throws Error{corrupt} that names an image whose
/// pixels are wrong, Error{no_space} where memory of the GPU is short, and what decode() throws.
DecodeResult decode_on_device(const DecodeBenchOptions& options, const InputSet& input, const DecodeMachine& machine,
                              Context& context);

}  // namespace shardkit
