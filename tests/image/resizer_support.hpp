#pragma once

#include <algorithm>
#include <cstddef>

#include <doctest/doctest.h>

#include "image/fixtures.hpp"
#include "image/jpeg_encoder.hpp"
#include "image/jpeg_resizer.hpp"

namespace shardkit::test {

constexpr std::size_t kAnySize = std::size_t{1} << 40U;

inline ByteVector encode(const Picture& picture, const image::EncodeOptions& options = {}) {
  image::JpegEncoder encoder;
  return copy_of(encoder.encode(picture.view(), options));
}

inline ByteVector encode(std::uint32_t width, std::uint32_t height, unsigned channels = 3) {
  return encode(make_picture(width, height, channels));
}

/// Expects that `result` is a sound JPEG made anew, and gives its header.
inline image::JpegHeader header_of(const image::Resized& result) {
  REQUIRE(result.failure == image::DecodeFailure::none);
  REQUIRE(result.changed);
  const image::JpegHeaderResult read = image::read_jpeg_header(result.jpeg);
  REQUIRE(read.status == image::JpegHeaderStatus::ok);
  image::JpegDecoder decoder;
  const image::Decoded decoded = decoder.decode(result.jpeg);
  CHECK(decoded.failure == image::DecodeFailure::none);
  CHECK(decoded.pixels.width == read.header.width);
  CHECK(decoded.pixels.height == read.header.height);
  CHECK_FALSE(read.header.progressive);
  return read.header;
}

}  // namespace shardkit::test
