#include "image/jpeg_resizer.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "image/resize.hpp"
#include "image/resizer_support.hpp"
#include "support/files.hpp"

using namespace shardkit;
using namespace shardkit::image;
using namespace shardkit::test;

namespace {

/// The input's full size by the filter alone: what a resize must come near.
Picture resized_in_full(Bytes jpeg, std::uint32_t width, std::uint32_t height) {
  JpegDecoder decoder;
  const PixelView full = decoder.decode(jpeg).pixels;
  Picture picture{std::vector<std::uint8_t>(std::size_t{width} * height * 3), width, height, 3};
  AntialiasResizer().resize(full, {full.width, full.height}, width, height, picture.bytes);
  return picture;
}

}  // namespace

TEST_CASE("the shorter side becomes exactly what was asked for, the longer one keeps the ratio") {
  struct Case {
    std::uint32_t width;
    std::uint32_t height;
    std::uint32_t shorter;
    std::uint32_t to_width;
    std::uint32_t to_height;
  };
  for (const auto& [width, height, shorter, to_width, to_height] : {Case{500, 375, 256, 341, 256},
                                                                    {375, 500, 256, 256, 341},
                                                                    {400, 400, 256, 256, 256},
                                                                    {257, 301, 256, 256, 300},
                                                                    {1999, 999, 64, 128, 64},
                                                                    {1001, 641, 80, 125, 80},
                                                                    {521, 261, 1, 2, 1},
                                                                    {333, 777, 31, 31, 72},
                                                                    {2000, 2, 1, 1000, 1},
                                                                    {3, 1000, 2, 2, 667},
                                                                    {640, 480, 479, 639, 479},
                                                                    {512, 384, 192, 256, 192}}) {
    CAPTURE(width);
    CAPTURE(height);
    CAPTURE(shorter);
    JpegResizer resizer({.shorter = shorter});
    const ByteVector jpeg = encode(width, height);
    const JpegHeader header = header_of(resizer.resize(jpeg, kAnySize));
    CHECK(header.width == to_width);
    CHECK(header.height == to_height);
    CHECK(header.subsampling == Subsampling::s420);
  }
}

TEST_CASE("an image whose shorter side is not larger keeps its bytes, unread behind its header") {
  JpegResizer resizer({.shorter = 100});
  for (const auto& [width, height] : {std::pair{100U, 300U}, {300U, 100U}, {100U, 100U}, {2000U, 1U}, {8U, 8U}}) {
    ByteVector jpeg = encode(width, height);
    jpeg.resize(jpeg.size() - 10);  // damage that only decoding would show
    const Resized result = resizer.resize(jpeg, 0);
    CHECK(result.failure == DecodeFailure::none);
    CHECK_FALSE(result.changed);
    CHECK(result.jpeg.data() == jpeg.data());
    CHECK(result.jpeg.size() == jpeg.size());
    CHECK(result.quality == 0);
  }
}

TEST_CASE("the picture is that of the full image, filtered") {
  for (const std::uint32_t shorter : {48U, 64U, 99U, 150U, 250U}) {
    CAPTURE(shorter);
    JpegResizer resizer({.shorter = shorter, .quality = 95});
    const ByteVector jpeg = encode(make_picture(533, 401), {.quality = 95, .subsampling = Subsampling::s444});
    const Resized result = resizer.resize(jpeg, kAnySize);
    JpegDecoder decoder;
    const Decoded decoded = decoder.decode(result.jpeg);
    REQUIRE(decoded.has_pixels());
    const Picture expected = resized_in_full(jpeg, decoded.pixels.width, decoded.pixels.height);
    CHECK(psnr(decoded.pixels, expected.view()) > 26);
  }
}

TEST_CASE("a picture is not shifted, also where the last pixels of a shrunk decode stand for less") {
  Picture ramp{{}, 533, 401, 3};
  for (std::uint32_t y = 0; y < 401; ++y) {
    for (std::uint32_t x = 0; x < 533; ++x) {
      for (const std::uint32_t level : {x * 255 / 532, y * 255 / 400, 100U}) {
        ramp.bytes.push_back(static_cast<std::uint8_t>(level));
      }
    }
  }
  const ByteVector jpeg = encode(ramp, {.quality = 98, .subsampling = Subsampling::s444});
  for (const std::uint32_t shorter : {48U, 50U, 97U, 180U, 390U}) {
    CAPTURE(shorter);
    JpegResizer resizer({.shorter = shorter, .quality = 98});
    JpegDecoder decoder;
    const Decoded decoded = decoder.decode(resizer.resize(jpeg, kAnySize).jpeg);
    REQUIRE(decoded.has_pixels());
    const Picture expected = resized_in_full(jpeg, decoded.pixels.width, decoded.pixels.height);
    for (unsigned c = 0; c < 3; ++c) {
      double difference = 0;
      for (std::size_t i = c; i < expected.bytes.size(); i += 3)
        difference += decoded.pixels.bytes[i] - expected.bytes[i];
      CHECK(std::abs(difference * 3 / static_cast<double>(expected.bytes.size())) < 0.5);
    }
  }
}

TEST_CASE("gray stays gray, and color of any sampling becomes 4:2:0") {
  JpegResizer resizer({.shorter = 50});
  const JpegHeader gray = header_of(resizer.resize(encode(200, 150, 1), kAnySize));
  CHECK(gray.components == 1);
  CHECK(gray.subsampling == Subsampling::gray);
  for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {1, 2}, {4, 1}}) {
    const JpegHeader header = header_of(resizer.resize(encode_raw(make_picture(200, 150), {h, v}), kAnySize));
    CHECK(header.components == 3);
    CHECK(header.subsampling == Subsampling::s420);
  }
  const ByteVector progressive = encode(make_picture(200, 150), {.progressive = true});
  CHECK(header_of(resizer.resize(progressive, kAnySize)).width == 67);
}

TEST_CASE("gray levels come through exactly, without a way through color") {
  const Picture flat{std::vector<std::uint8_t>(160 * 160, 77), 160, 160, 1};
  JpegResizer resizer({.shorter = 30});
  const Resized result = resizer.resize(encode(flat), kAnySize);
  JpegDecoder decoder({.keep_gray = true});
  const Decoded decoded = decoder.decode(result.jpeg);
  CHECK(decoded.pixels.channels == 1);
  CHECK(std::all_of(decoded.pixels.bytes.begin(), decoded.pixels.bytes.end(),
                    [](int v) { return std::abs(v - 77) <= 1; }));
}

TEST_CASE("CMYK becomes the colors that decoding gives") {
  for (const bool adobe : {false, true}) {
    const ByteVector jpeg = encode_raw(make_picture(210, 160, 4), {.adobe_marker = adobe});
    JpegResizer resizer({.shorter = 80, .quality = 95});
    const Resized result = resizer.resize(jpeg, kAnySize);
    const JpegHeader header = header_of(result);
    CHECK(header.components == 3);
    JpegDecoder decoder;
    const Picture expected = resized_in_full(jpeg, header.width, header.height);
    CHECK(psnr(decoder.decode(result.jpeg).pixels, expected.view()) > 28);
  }
}

TEST_CASE("real photographs become smaller ones") {
  namespace fs = std::filesystem;
  const char* folder = std::getenv("SHARDKIT_IMAGENET_SAMPLE");
  if (folder == nullptr || !fs::is_directory(folder)) {
    MESSAGE("SKIPPED: SHARDKIT_IMAGENET_SAMPLE names no folder of photographs");
    return;
  }
  JpegResizer resizer({.shorter = 160});
  std::size_t resized = 0;
  double quality = 0;
  for (const auto& [name, content] : tree_content(folder)) {
    CAPTURE(name);
    const Bytes jpeg = as_bytes(content);
    const JpegHeaderResult source = read_jpeg_header(jpeg);
    const Resized result = resizer.resize(jpeg, jpeg.size());
    if (source.status != JpegHeaderStatus::ok || result.failure != DecodeFailure::none || !result.changed) continue;
    const JpegHeader header = header_of(result);
    CHECK(std::min(header.width, header.height) == 160);
    CHECK(result.jpeg.size() <= jpeg.size());
    CHECK((header.components == 1) == (source.header.components == 1));
    CHECK(header.orientation == source.header.orientation);
    const Picture expected = resized_in_full(jpeg, header.width, header.height);
    JpegDecoder decoder;
    const double decibels = psnr(decoder.decode(result.jpeg).pixels, expected.view());
    CHECK(decibels > 24);
    quality += decibels;
    ++resized;
  }
  CHECK(resized > 300);
  CHECK(quality / static_cast<double>(resized) > 34);
}
