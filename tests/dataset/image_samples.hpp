#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "image/jpeg_encoder.hpp"

/// Small images, sound and with one fault each.
namespace shardkit::test {

inline std::string make_jpeg(std::uint32_t side = 32) {
  std::vector<std::uint8_t> pixels(std::size_t{side} * side * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37);
  image::JpegEncoder encoder;
  return std::string(as_text(encoder.encode({pixels, side, side, 3}, {})));
}

/// A PNG of one pixel.
inline const std::string kPng =
    std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90\x77\x53\xde", 33) +
    std::string("\0\0\0\x0cIDAT\x78\x9c\x63\x60\x64\x62\x06\0\0\x0e\0\x07\xd7\x6f\xe4\x78", 24) +
    std::string("\0\0\0\0IEND\xae\x42\x60\x82", 12);

inline std::string with_zero_width(std::string png) {
  png.replace(16, 4, 4, '\0');
  return png;
}

/// It claims 65,280 by 65,280 pixels.
inline std::string with_huge_png_sides(std::string png) {
  return png.replace(16, 8, std::string("\0\0\xff\0\0\0\xff\0", 8));
}

inline std::string with_damaged_pixels(std::string png) {
  png[42] = static_cast<char>(png[42] ^ 1);
  return png;
}

/// Its quantization tables become comments.
inline std::string without_tables(std::string jpeg) {
  for (std::size_t at = 0; (at = jpeg.find("\xff\xdb", at)) != std::string::npos;) jpeg.replace(at, 2, "\xff\xfe");
  return jpeg;
}

/// A marker where none belongs ends the data early: libjpeg warns and goes on with gray.
inline std::string with_damaged_data(std::string jpeg) { return jpeg.replace(jpeg.size() * 3 / 4, 2, "\xff\xd3"); }

/// Its frame header claims 65,500 by 65,500 pixels.
inline std::string with_huge_sides(std::string jpeg) {
  const std::size_t frame = jpeg.find("\xff\xc0");
  REQUIRE(frame != std::string::npos);
  return jpeg.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
}

}  // namespace shardkit::test
