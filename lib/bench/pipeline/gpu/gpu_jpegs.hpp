#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/pipeline/loader/hand_over.hpp"
#include "gpu/device.hpp"
#include "gpu/device_jpeg_decoder.hpp"

namespace shardkit {

/// Decodes images into one piece of a GPU's memory, which goes round. One thread at a time.
class GpuJpegs {
 public:
  /// Both outlive it. `memory` bytes are for pixels; no image that comes takes more.
  GpuJpegs(Device& device, DeviceJpegDecoder& decoder, std::uint64_t memory);

  /// Decodes the images that have a route, of as many samples, from the first on, as there is memory for; returns how
  /// many samples that are, one at least. Waits until the pixels of the last call are not used any more.
  std::size_t decode(std::span<RawSample> samples);
  /// Where the pixels of that call's sample are; null where there are none: it had no route, or the engine failed.
  const std::byte* pixels(std::size_t sample) const { return pixels_[sample]; }
  /// The pixels are used until `event`, which was recorded and lives as long as this.
  void used_until(Event& event) { used_ = &event; }

 private:
  std::size_t place(std::span<const RawSample> samples);
  void decode_by(JpegEngine engine, std::span<RawSample> samples);

  DeviceJpegDecoder& decoder_;
  DeviceBuffer memory_;
  Event* used_ = nullptr;
  std::vector<std::byte*> pixels_;
};

}  // namespace shardkit
