#include "image/jpeg_decoder.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "image/augment.hpp"
#include "image/fixtures.hpp"
#include "image/resize.hpp"
#include "image/resizer_support.hpp"

using namespace shardkit;
using namespace shardkit::image;
using namespace shardkit::test;

namespace {

std::vector<std::uint8_t> pixels_of(const Decoded& decoded) {
  return {decoded.pixels.bytes.begin(), decoded.pixels.bytes.end()};
}

/// The box's pixels out of a whole image.
std::vector<std::uint8_t> cut_out(const PixelView& whole, const CropBox& box) {
  std::vector<std::uint8_t> out;
  for (std::uint32_t y = box.y; y < box.y + box.height; ++y) {
    const std::uint8_t* begin = whole.row(y) + std::size_t{box.x} * 3;
    out.insert(out.end(), begin, begin + std::size_t{box.width} * 3);
  }
  return out;
}

/// One JPEG for each way of sampling that differs in libjpeg's upsampling, and one progressive.
std::vector<ByteVector> mixed_jpegs() {
  std::vector<ByteVector> jpegs;
  const Picture picture = make_picture(203, 149);
  for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}}) {
    jpegs.push_back(encode_raw(picture, {h, v}));
  }
  jpegs.push_back(encode(make_picture(97, 131, 1)));
  jpegs.push_back(encode(picture, {.progressive = true}));
  jpegs.push_back(encode_raw(make_picture(120, 80, 4), {.adobe_marker = true}));
  return jpegs;
}

}  // namespace

TEST_CASE("decoding what was encoded gives back the picture") {
  const Picture picture = make_picture(320, 213);
  JpegDecoder decoder;
  const ByteVector sharp = encode(picture, {.quality = 97, .subsampling = Subsampling::s444});
  const Decoded decoded = decoder.decode(sharp);
  REQUIRE(decoded.has_pixels());
  CHECK(decoded.failure == DecodeFailure::none);
  CHECK(decoded.pixels.width == 320);
  CHECK(decoded.pixels.height == 213);
  CHECK(psnr(decoded.pixels, picture.view()) > 40);
  const ByteVector coarse = encode(picture, {.quality = 60});
  CHECK(psnr(decoder.decode(coarse).pixels, picture.view()) > 20);
}

TEST_CASE("gray comes out as three equal channels") {
  const Picture gray = make_picture(64, 50, 1);
  JpegDecoder decoder;
  const ByteVector jpeg = encode(gray, {.quality = 98});
  const Decoded decoded = decoder.decode(jpeg);
  REQUIRE(decoded.has_pixels());
  for (std::size_t i = 0; i < gray.bytes.size(); ++i) {
    REQUIRE(decoded.pixels.bytes[3 * i] == decoded.pixels.bytes[3 * i + 1]);
    REQUIRE(decoded.pixels.bytes[3 * i] == decoded.pixels.bytes[3 * i + 2]);
    REQUIRE(std::abs(decoded.pixels.bytes[3 * i] - gray.bytes[i]) < 12);
  }
}

TEST_CASE("CMYK is converted to RGB, and taken as inverted where Adobe's marker stands") {
  // Ink in 0..255: full cyan, no magenta, half yellow, no black; constant, so that JPEG keeps it exactly.
  Picture ink{{}, 16, 16, 4};
  for (int i = 0; i < 256; ++i) ink.bytes.insert(ink.bytes.end(), {255, 0, 128, 0});
  Picture inverted = ink;
  for (std::uint8_t& byte : inverted.bytes) byte = static_cast<std::uint8_t>(255 - byte);
  JpegDecoder decoder;
  for (const bool adobe : {false, true}) {
    const ByteVector jpeg = encode_raw(adobe ? inverted : ink, {.adobe_marker = adobe});
    const Decoded decoded = decoder.decode(jpeg);
    REQUIRE(decoded.has_pixels());
    CHECK(decoded.pixels.bytes.size() == 16 * 16 * 3);
    CHECK(decoded.pixels.bytes[0] <= 2);
    CHECK(decoded.pixels.bytes[1] >= 253);
    CHECK(std::abs(decoded.pixels.bytes[2] - 127) <= 2);
  }
}

TEST_CASE("a file cut anywhere is truncated, not an image") {
  const ByteVector jpeg = encode(make_picture(160, 120));
  JpegDecoder decoder;
  for (std::size_t size = 4; size + 1 < jpeg.size(); size += 37) {
    CAPTURE(size);
    const Decoded decoded = decoder.decode(Bytes(jpeg).first(size));
    CHECK_FALSE(decoded.has_pixels());
    CHECK(decoded.failure == DecodeFailure::truncated);
  }
  CHECK(decoder.decode(jpeg).failure == DecodeFailure::none);
}

TEST_CASE("a missing end-of-image marker alone is noticed") {
  const ByteVector jpeg = encode(make_picture(160, 120));
  JpegDecoder decoder;
  CHECK(decoder.decode(Bytes(jpeg).first(jpeg.size() - 2)).failure == DecodeFailure::truncated);
}

TEST_CASE("damage inside the scan is a warning with pixels") {
  ByteVector jpeg = encode(make_picture(160, 120), {.quality = 95});
  const std::size_t middle = jpeg.size() / 2;
  std::fill_n(jpeg.begin() + static_cast<std::ptrdiff_t>(middle), 24, std::byte{0x5A});
  // A marker where none belongs ends the data early: libjpeg warns and goes on with gray.
  jpeg.at(middle + 30) = std::byte{0xFF};
  jpeg.at(middle + 31) = std::byte{0xD3};
  JpegDecoder decoder;
  const Decoded damaged = decoder.decode(jpeg);
  CHECK(damaged.failure == DecodeFailure::warned);
  CHECK(damaged.has_pixels());
  CHECK_FALSE(damaged.message.empty());
}

TEST_CASE("any flipped byte gives pixels or a failure, never a crash") {
  const ByteVector sound = encode(make_picture(48, 40));
  JpegDecoder decoder({.max_scans = 20});
  std::size_t failed = 0;
  for (std::size_t at = 0; at < sound.size(); ++at) {
    ByteVector jpeg = sound;
    jpeg[at] ^= std::byte{0xFF};
    const Decoded decoded = decoder.decode(jpeg);
    const bool pixels_expected = decoded.failure == DecodeFailure::none || decoded.failure == DecodeFailure::warned;
    CHECK(decoded.has_pixels() == pixels_expected);
    failed += pixels_expected ? 0 : 1;
  }
  CHECK(failed > 0);
  CHECK(decoder.decode(sound).failure == DecodeFailure::none);
}

TEST_CASE("what is no JPEG is distinguished by kind") {
  JpegDecoder decoder;
  const Decoded png = decoder.decode(as_bytes("\x89PNG\r\n\x1A\n and so on"));
  CHECK(png.failure == DecodeFailure::not_jpeg);
  CHECK(png.message == "PNG");
  CHECK(decoder.decode({}).failure == DecodeFailure::not_jpeg);
  CHECK(decoder.decode(as_bytes(std::string_view("\0\0\0\0", 4))).message == "unknown");
}

TEST_CASE("an image without rows has zero pixels, an enormous one is refused before it takes memory") {
  const ByteVector sound = encode(make_picture(16, 16));
  const std::array<std::byte, 2> frame{std::byte{0xFF}, std::byte{0xC0}};
  const auto size_at = std::search(sound.begin(), sound.end(), frame.begin(), frame.end()) - sound.begin() + 5;
  JpegDecoder decoder;
  ByteVector empty = sound;
  std::fill_n(empty.begin() + size_at, 2, std::byte{0});
  CHECK(decoder.decode(empty).failure == DecodeFailure::zero_pixels);
  ByteVector huge = sound;
  std::fill_n(huge.begin() + size_at, 4, std::byte{0xF0});
  CHECK(decoder.decode(huge).failure == DecodeFailure::too_large);
  CHECK(decoder.decode(sound).has_pixels());
}

TEST_CASE("a progressive image decodes like a baseline one, up to a number of scans") {
  const Picture picture = make_picture(200, 150);
  const ByteVector progressive = encode(picture, {.quality = 90, .progressive = true});
  JpegDecoder decoder;
  const std::vector<std::uint8_t> pixels = pixels_of(decoder.decode(progressive));
  CHECK(pixels == pixels_of(JpegDecoder().decode(encode(picture, {.quality = 90}))));
  JpegDecoder wary({.max_scans = 3});
  CHECK(wary.decode(progressive).failure == DecodeFailure::too_many_scans);
  CHECK(wary.decode(encode(picture)).failure == DecodeFailure::none);
}

TEST_CASE("a crop has exactly the pixels that the whole image has there") {
  Prng prng(11);
  JpegDecoder cropper;
  JpegDecoder decoder;
  std::size_t index = 0;
  for (const ByteVector& jpeg : mixed_jpegs()) {
    const Decoded whole = decoder.decode(jpeg);
    REQUIRE(whole.has_pixels());
    for (int i = 0; i < 200; ++i) {
      const auto x = static_cast<std::uint32_t>(prng.below(whole.pixels.width));
      const auto y = static_cast<std::uint32_t>(prng.below(whole.pixels.height));
      const std::uint32_t most = std::min(whole.pixels.width - x, whole.pixels.height - y);
      const auto side = static_cast<std::uint32_t>(1 + prng.below(most));
      const CropBox box{x, y, side, side};
      CAPTURE(index);
      CAPTURE(box.x);
      CAPTURE(box.y);
      CAPTURE(side);
      const Decoded part = cropper.decode_resized_crop(jpeg, box, side);  // of the same size: nothing is resized
      REQUIRE(part.has_pixels());
      REQUIRE((pixels_of(part) == cut_out(whole.pixels, box)));
    }
    ++index;
  }
}

TEST_CASE("a crop that reaches over the image's edge has no pixels") {
  const ByteVector jpeg = encode(make_picture(40, 30));
  JpegDecoder decoder;
  CHECK(decoder.decode_resized_crop(jpeg, {30, 20, 11, 10}).failure == DecodeFailure::corrupt);
  CHECK(decoder.decode_resized_crop(jpeg, {30, 20, 10, 11}).failure == DecodeFailure::corrupt);
  CHECK(decoder.decode(jpeg).has_pixels());
}

TEST_CASE("one decoder over mixed images gives what a fresh one gives") {
  const std::vector<ByteVector> jpegs = mixed_jpegs();
  JpegDecoder kept;
  Prng order(5);
  for (int i = 0; i < 300; ++i) {
    const ByteVector& jpeg = jpegs.at(order.below(jpegs.size()));
    const std::uint64_t seed = order.next();
    Prng kept_draws(seed);
    Prng fresh_draws(seed);
    JpegDecoder fresh;
    const bool crop = order.below(3) != 0;
    const Decoded a = crop ? kept.decode_random_crop(jpeg, kept_draws, 32) : kept.decode(jpeg);
    const Decoded b = crop ? fresh.decode_random_crop(jpeg, fresh_draws, 32) : fresh.decode(jpeg);
    REQUIRE(a.has_pixels());
    REQUIRE((pixels_of(a) == pixels_of(b)));
  }
}

TEST_CASE("an image without tables of its own is corrupt, also after one that had them") {
  const ByteVector good = encode(make_picture(64, 64));
  ByteVector bare = good;
  for (std::size_t i = 0; i + 1 < bare.size(); ++i) {
    if (bare[i] == std::byte{0xff} && bare[i + 1] == std::byte{0xdb}) bare[i + 1] = std::byte{0xfe};  // a comment
  }
  JpegDecoder decoder;
  REQUIRE(decoder.decode(good).has_pixels());
  CHECK(decoder.decode(bare).failure == DecodeFailure::corrupt);
  CHECK(decoder.decode(good).has_pixels());
}

TEST_CASE("a random crop is the drawn box of the whole image, resized") {
  const ByteVector jpeg = encode(make_picture(300, 200));
  JpegDecoder cropper;
  const std::vector<std::uint8_t> whole = pixels_of(JpegDecoder().decode(jpeg));
  std::vector<std::uint8_t> padded = whole;
  padded.resize(whole.size() + BilinearResizer::kReadBeyond);
  for (const std::uint32_t size : {224U, 32U}) {
    Prng draws(size);
    const Decoded crop = cropper.decode_random_crop(jpeg, draws, size);
    CHECK(crop.pixels.width == size);
    CHECK(crop.pixels.height == size);
    Prng again(size);
    std::vector<std::uint8_t> expected(std::size_t{size} * size * 3);
    BilinearResizer().resize({padded, 300, 200}, draw_resized_crop(300, 200, again), size, size, expected);
    CHECK((pixels_of(crop) == expected));
    CHECK(draws.next() == again.next());
  }
}

TEST_CASE("a gray image comes out as one channel where that is asked for, a color one as three") {
  const ByteVector gray = encode(make_picture(64, 50, 1));
  const ByteVector color = encode(make_picture(64, 50));
  JpegDecoder spread;
  JpegDecoder kept({.keep_gray = true});
  const std::vector<std::uint8_t> three = pixels_of(spread.decode(gray));
  const Decoded one = kept.decode(gray);
  CHECK(one.pixels.channels == 1);
  REQUIRE(one.pixels.bytes.size() == 64 * 50);
  for (std::size_t i = 0; i < 64 * 50; ++i) REQUIRE(one.pixels.bytes[i] == three[3 * i]);
  CHECK((pixels_of(kept.decode(color)) == pixels_of(spread.decode(color))));
  CHECK((pixels_of(kept.decode_resized_crop(gray, {5, 6, 8, 8}, 8)) ==
         pixels_of(spread.decode_resized_crop(gray, {5, 6, 8, 8}, 8))));
}

TEST_CASE("decoding at a fraction of the size rounds the sides up") {
  const ByteVector jpeg = encode(make_picture(301, 200));
  JpegDecoder quarter({.scale_divisor = 4});
  const Decoded decoded = quarter.decode(jpeg);
  CHECK(decoded.pixels.width == 76);
  CHECK(decoded.pixels.height == 50);
  JpegDecoder whole;
  CHECK((pixels_of(whole.decode_shrunk(jpeg, 4)) == pixels_of(quarter.decode(jpeg))));
  CHECK(whole.decode(jpeg).pixels.width == 301);
}

TEST_CASE("chroma that is not smoothed is repeated: pairs of pixels differ in brightness alone") {
  const ByteVector jpeg = encode(make_picture(64, 48), {.quality = 95, .subsampling = Subsampling::s420});
  JpegDecoder smooth;
  JpegDecoder plain({.smooth_chroma = false});
  const Decoded repeated = plain.decode(jpeg);
  REQUIRE(repeated.failure == DecodeFailure::none);
  CHECK(pixels_of(repeated) != pixels_of(smooth.decode(jpeg)));
  std::size_t pairs = 0;
  std::size_t alike = 0;
  for (std::uint32_t x = 0; x < 64; x += 2) {
    const std::uint8_t* left = repeated.pixels.row(10) + std::size_t{x} * 3;
    const int red = left[3] - left[0];
    const int blue = left[5] - left[2];
    ++pairs;
    if (red - blue <= 1 && blue - red <= 1) ++alike;
  }
  CHECK(alike == pairs);
}

TEST_CASE("without subsampling there is no chroma to smooth") {
  const ByteVector jpeg = encode(make_picture(64, 48), {.subsampling = Subsampling::s444});
  JpegDecoder smooth;
  JpegDecoder plain({.smooth_chroma = false});
  CHECK(pixels_of(plain.decode(jpeg)) == pixels_of(smooth.decode(jpeg)));
}
