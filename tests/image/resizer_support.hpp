#pragma once

#include <algorithm>
#include <cstddef>

#include <doctest/doctest.h>

#include "image/fixtures.hpp"
#include "image/jpeg_encoder.hpp"
#include "image/jpeg_resizer.hpp"

namespace shardkit::test {

constexpr std::size_t kAnySize = std::size_t{1} << 40U;

inline ByteVector encode(const Picture& picture, const EncodeOptions& options = {}) {
  JpegEncoder encoder;
  return copy_of(encoder.encode(picture.view(), options));
}

inline ByteVector encode(std::uint32_t width, std::uint32_t height, unsigned channels = 3) {
  return encode(make_picture(width, height, channels));
}

/// Expects that `result` is a sound JPEG made anew, and gives its header.
inline JpegHeader header_of(const Resized& result) {
  REQUIRE(result.failure == DecodeFailure::none);
  REQUIRE(result.changed);
  const JpegHeaderResult read = read_jpeg_header(result.jpeg);
  REQUIRE(read.status == JpegHeaderStatus::ok);
  JpegDecoder decoder;
  const Decoded decoded = decoder.decode(result.jpeg);
  CHECK(decoded.failure == DecodeFailure::none);
  CHECK(decoded.pixels.width == read.header.width);
  CHECK(decoded.pixels.height == read.header.height);
  CHECK_FALSE(read.header.progressive);
  return read.header;
}

}  // namespace shardkit::test
