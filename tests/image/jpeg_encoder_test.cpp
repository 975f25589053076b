#include "image/jpeg_encoder.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "image/fixtures.hpp"
#include "image/jpeg_decoder.hpp"

using namespace shardkit;
using namespace shardkit::image;
using namespace shardkit::test;

TEST_CASE("the subsampling that was asked for stands in the header") {
  const Picture picture = make_picture(61, 47);
  JpegEncoder encoder;
  for (const Subsampling subsampling : {Subsampling::s444, Subsampling::s422, Subsampling::s420}) {
    const JpegHeaderResult read = read_jpeg_header(encoder.encode(picture.view(), {.subsampling = subsampling}));
    CHECK(read.status == JpegHeaderStatus::ok);
    CHECK(read.header.subsampling == subsampling);
    CHECK(read.header.width == 61);
    CHECK(read.header.height == 47);
    CHECK_FALSE(read.header.progressive);
  }
  const Picture gray = make_picture(61, 47, 1);
  CHECK(read_jpeg_header(encoder.encode(gray.view(), {})).header.subsampling == Subsampling::gray);
}

TEST_CASE("the same pixels give the same bytes, whatever was encoded before") {
  const Picture picture = make_picture(90, 70);
  const Picture large = make_picture(400, 300);
  for (const bool optimize : {false, true}) {
    JpegEncoder fresh;
    const ByteVector expected = copy_of(fresh.encode(picture.view(), {.optimize = optimize}));
    JpegEncoder kept;
    for (const EncodeOptions& before :
         {EncodeOptions{.quality = 30, .progressive = true}, {.quality = 99, .optimize = true}, {.quality = 50}}) {
      kept.encode(large.view(), before);
      kept.encode(make_picture(9, 9, 1).view(), before);
      CHECK((copy_of(kept.encode(picture.view(), {.optimize = optimize})) == expected));
    }
  }
}

TEST_CASE("quality and optimized tables change the size, not the picture") {
  const Picture picture = make_picture(200, 200);
  JpegEncoder encoder;
  JpegDecoder decoder;
  const ByteVector plain = copy_of(encoder.encode(picture.view(), {.quality = 90}));
  const ByteVector optimized = copy_of(encoder.encode(picture.view(), {.quality = 90, .optimize = true}));
  const ByteVector coarse = copy_of(encoder.encode(picture.view(), {.quality = 40}));
  CHECK(optimized.size() < plain.size());
  CHECK(coarse.size() < plain.size() / 2);
  const Decoded first = decoder.decode(plain);
  const std::vector<std::uint8_t> pixels(first.pixels.bytes.begin(), first.pixels.bytes.end());
  const Decoded second = decoder.decode(optimized);
  CHECK(std::equal(pixels.begin(), pixels.end(), second.pixels.bytes.begin(), second.pixels.bytes.end()));
}

TEST_CASE("an orientation stands in an Exif segment behind JFIF's, none where the picture is upright") {
  const Picture picture = make_picture(61, 47);
  JpegEncoder encoder;
  const ByteVector upright = copy_of(encoder.encode(picture.view(), {}));
  for (unsigned orientation = 2; orientation <= 8; ++orientation) {
    const ByteVector jpeg = copy_of(encoder.encode(picture.view(), {.orientation = orientation}));
    CHECK(read_jpeg_header(jpeg).header.orientation == orientation);
    CHECK(jpeg.size() == upright.size() + 36);
    CHECK(as_text(jpeg).substr(2, 2) == "\xFF\xE0");
    CHECK(as_text(jpeg).substr(20, 10) == std::string_view("\xFF\xE1\0\x22"
                                                           "Exif\0\0",
                                                           10));
  }
  CHECK(read_jpeg_header(upright).header.orientation == 1);
  CHECK((copy_of(encoder.encode(picture.view(), {.orientation = 1})) == upright));
}

TEST_CASE("pixels that make no JPEG are a usage error, and the encoder goes on") {
  JpegEncoder encoder;
  const Picture picture = make_picture(8, 8);
  PixelView wrong = picture.view();
  wrong.height = 9;
  CHECK_THROWS_AS(encoder.encode(wrong, {}), Error);
  CHECK_THROWS_AS(encoder.encode({}, {}), Error);
  CHECK_THROWS_AS(encoder.encode({{}, 70000, 1, 3}, {}), Error);
  CHECK_THROWS_AS(encoder.encode({picture.bytes, 8, 12, 2}, {}), Error);
  CHECK_THROWS_AS(encoder.encode(picture.view(), {.subsampling = Subsampling::s411}), Error);
  CHECK_THROWS_AS(encoder.encode(picture.view(), {.orientation = 0}), Error);
  CHECK_THROWS_AS(encoder.encode(picture.view(), {.orientation = 9}), Error);
  CHECK(encoder.encode(picture.view(), {}).size() > 100);
}
