#include "image/image_decoder.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>
#include <png.h>
#include <webp/encode.h>

#include "fixtures.hpp"

using namespace shardkit;
using namespace shardkit::image;
using namespace shardkit::test;

namespace {

constexpr std::uint32_t kWidth = 70;
constexpr std::uint32_t kHeight = 50;

ByteVector png_of(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = picture.width;
  image.height = picture.height;
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  REQUIRE(png_image_write_to_memory(&image, nullptr, &size, 0, picture.bytes.data(), 0, nullptr) != 0);
  ByteVector file(size);
  REQUIRE(png_image_write_to_memory(&image, file.data(), &size, 0, picture.bytes.data(), 0, nullptr) != 0);
  file.resize(size);
  return file;
}

ByteVector webp_of(const Picture& picture) {
  std::uint8_t* made = nullptr;
  const std::size_t size =
      WebPEncodeLosslessRGB(picture.bytes.data(), static_cast<int>(picture.width), static_cast<int>(picture.height),
                            static_cast<int>(picture.width * 3), &made);
  REQUIRE(size > 0);
  const auto* const begin = reinterpret_cast<const std::byte*>(made);
  ByteVector file(begin, begin + size);
  WebPFree(made);
  return file;
}

bool has_bytes(const Decoded& decoded, const std::vector<std::uint8_t>& bytes) {
  return std::ranges::equal(decoded.pixels.bytes, bytes);
}

}  // namespace

TEST_CASE("PNG and WebP are decoded to the pixels that were encoded, each after another in one decoder") {
  const Picture picture = make_picture(kWidth, kHeight);
  ImageDecoder decoder;
  for (const ByteVector& file : {png_of(picture), webp_of(picture), png_of(picture)}) {
    const Decoded decoded = decoder.decode(file);
    CHECK(decoded.failure == DecodeFailure::none);
    CHECK(decoded.pixels.width == kWidth);
    CHECK(has_bytes(decoded, picture.bytes));
  }
}

TEST_CASE("a gray PNG becomes RGB") {
  const Picture picture = make_picture(8, 8, 1);
  ImageDecoder decoder;
  const Decoded decoded = decoder.decode(png_of(picture));
  REQUIRE(decoded.pixels.bytes.size() == 8 * 8 * 3);
  for (std::size_t i = 0; i < 8 * 8 * 3; ++i) CHECK(decoded.pixels.bytes[i] == picture.bytes[i / 3]);
}

TEST_CASE("a crop is that of the whole image, resized") {
  const Picture picture = make_picture(kWidth, kHeight);
  const CropBox box{10, 5, 40, 30};
  std::vector<std::uint8_t> padded = picture.bytes;
  padded.resize(padded.size() + BilinearResizer::kReadBeyond);
  std::vector<std::uint8_t> expected(16 * 16 * 3);
  BilinearResizer().resize({std::span(padded).first(picture.bytes.size()), kWidth, kHeight}, box, 16, 16, expected);
  ImageDecoder decoder;
  CHECK(has_bytes(decoder.decode_resized_crop(png_of(picture), box, 16), expected));
  CHECK(has_bytes(decoder.decode_resized_crop(webp_of(picture), box, 16), expected));
  CHECK(decoder.decode_resized_crop(png_of(picture), {60, 5, 40, 30}, 16).failure == DecodeFailure::corrupt);
  Prng prng(1);
  CHECK(decoder.decode_random_crop(png_of(picture), prng, 16).pixels.bytes.size() == expected.size());
}

TEST_CASE("every shorter PNG or WebP is a failure, or has all pixels") {
  const Picture picture = make_picture(kWidth, kHeight);
  ImageDecoder decoder;
  for (const ByteVector& file : {png_of(picture), webp_of(picture)}) {
    for (std::size_t size = kSniffedBytes; size < file.size(); size += 7) {
      const Decoded decoded = decoder.decode(Bytes(file).first(size));
      CHECK((decoded.failure != DecodeFailure::none || has_bytes(decoded, picture.bytes)));
    }
    CHECK_FALSE(decoder.decode(Bytes(file).first(file.size() / 2)).has_pixels());
  }
}

TEST_CASE("what is neither JPEG, PNG nor WebP is another format") {
  ImageDecoder decoder;
  const std::string gif = "GIF89a not decoded here";
  CHECK(decoder.decode(as_bytes(gif)).failure == DecodeFailure::not_jpeg);
}
