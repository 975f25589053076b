#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "image/pixels.hpp"

namespace shardkit::test {

using ByteVector = std::vector<std::byte>;

/// Pixels that own their memory.
struct Picture {
  std::vector<std::uint8_t> bytes;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  unsigned channels = 3;
  image::PixelView view() const { return {bytes, width, height, channels}; }
};

/// Soft gradients with a few edges and a little noise: compresses as a photograph does.
Picture make_picture(std::uint32_t width, std::uint32_t height, unsigned channels = 3);

/// What JpegEncoder does not make: any sampling factors and CMYK, by libjpeg itself.
struct RawJpegOptions {
  int luma_h = 1;
  int luma_v = 1;
  bool adobe_marker = false;
};
ByteVector encode_raw(const Picture& picture, const RawJpegOptions& options);

/// Peak signal-to-noise ratio in dB; both as large as each other.
double psnr(const image::PixelView& a, const image::PixelView& b);

/// The JPEG that JpegEncoder makes, as bytes of its own.
ByteVector copy_of(std::span<const std::byte> bytes);

}  // namespace shardkit::test
