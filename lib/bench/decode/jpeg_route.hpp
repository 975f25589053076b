#pragma once

#include <cstdint>
#include <optional>

#include "core/bytes.hpp"
#include "gpu/device_jpeg_decoder.hpp"

namespace shardkit {

/// How a GPU decodes an image, and what it needs to know of it.
struct JpegRoute {
  JpegEngine engine = JpegEngine::hardware;
  std::uint32_t width = 0;
  std::uint32_t height = 0;

  /// Of its pixels, RGB.
  std::uint64_t bytes() const { return std::uint64_t{width} * height * 3; }
};

/// Empty where the CPU is to decode the image: no engine takes it, or its header is not one that both would read alike
/// (RGB that is stored as such, which Adobe's marker or the components' names tell). Thread-safe.
std::optional<JpegRoute> route_jpeg(DeviceJpegDecoder& decoder, Bytes jpeg);

}  // namespace shardkit
