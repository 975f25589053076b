#pragma once

#include <string>

#include "bench/bench_data.hpp"

/// JPEGs of the kinds that a GPU's engines take or refuse.
namespace shardkit::test {

inline std::string as_string(const ByteVector& bytes) { return std::string(as_text(bytes)); }

/// `number` makes it differ from others; so do its sides.
inline std::string jpeg_of(const image::EncodeOptions& options, std::uint32_t number = 0, std::uint32_t side = 64,
                           unsigned channels = 3) {
  image::JpegEncoder encoder;
  const Picture picture = make_picture(side + number, side, channels);
  return std::string(as_text(encoder.encode(picture.view(), options)));
}

inline std::string progressive_jpeg(std::uint32_t number = 0, std::uint32_t side = 64) {
  return jpeg_of({.progressive = true}, number, side);
}

inline std::string cmyk_jpeg() { return as_string(encode_raw(make_picture(32, 32, 4), {.adobe_marker = true})); }

/// 4:1:1, which hardware does not take.
inline std::string narrow_chroma_jpeg(std::uint32_t side = 64) {
  return as_string(encode_raw(make_picture(side, side), {.luma_h = 4}));
}

/// The same image with an Adobe marker that says how its colors are stored: 0 for RGB.
inline std::string with_adobe_marker(std::string jpeg, char transform) {
  std::string marker(
      "\xFF\xEE\x00\x0E"
      "Adobe\x00\x64\x00\x00\x00\x00",
      15);
  return jpeg.insert(2, marker + transform);
}

/// The same image without its JFIF marker, its components called 'R', 'G', 'B', which libjpeg takes for RGB.
inline std::string with_rgb_names(std::string jpeg) {
  const auto length = [&](std::size_t marker) {
    return 2 + 256U * static_cast<unsigned char>(jpeg[marker + 2]) + static_cast<unsigned char>(jpeg[marker + 3]);
  };
  if (const std::size_t jfif = jpeg.find("\xFF\xE0"); jfif != std::string::npos) jpeg.erase(jfif, length(jfif));
  const std::size_t frame = jpeg.find("\xFF\xC0");
  const std::size_t scan = jpeg.find("\xFF\xDA");
  for (std::size_t i = 0; i < 3; ++i) {
    jpeg.at(frame + 10 + 3 * i) = "RGB"[i];
    jpeg.at(scan + 5 + 2 * i) = "RGB"[i];
  }
  return jpeg;
}

inline const std::string kTinyPng("\x89PNG\r\n\x1a\n0000000000000000", 24);

}  // namespace shardkit::test
