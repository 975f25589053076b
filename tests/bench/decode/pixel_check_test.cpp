#include <doctest/doctest.h>

#include "bench/decode/decode.hpp"
#include "bench/decode/decode_images.hpp"
#include "bench/decode/device_decode_bench.hpp"
#include "image/pixels.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::image;
using namespace shardkit::test;
using namespace shardkit_test;

namespace {

/// What is said of images of these bytes. Those of the last batch are compared a second time.
PixelComparison comparison(const FakeJpegDecoder::Settings& settings, const std::vector<std::string>& images) {
  DeviceDecodeBench bench(settings);
  for (std::size_t i = 0; i < images.size(); ++i) bench.write(std::to_string(i) + ".jpg", images[i]);
  bench.options.batch = 2;
  return bench.run().nvjpeg.value().pixels;
}

/// Red and blue in stripes as narrow as chroma is coarse: the hardest there is for chroma that is made large again.
std::string striped_jpeg() {
  Picture picture{{}, 64, 64};
  for (std::uint32_t i = 0; i < 64 * 64; ++i) {
    const bool red = i % 64 / 3 % 2 == 0;
    picture.bytes.insert(picture.bytes.end(),
                         {static_cast<std::uint8_t>(red ? 230 : 20), 30, static_cast<std::uint8_t>(red ? 20 : 230)});
  }
  JpegEncoder encoder;
  return std::string(as_text(encoder.encode(picture.view(), {.subsampling = Subsampling::s420})));
}

}  // namespace

TEST_CASE("equal pixels are equal, on every path, and each image is compared") {
  const PixelComparison result = comparison({}, {jpeg_of({}), jpeg_of({}, 1), progressive_jpeg(), jpeg_of({}, 2)});
  CHECK(result.compared > 4);
  CHECK(result.damaged == 0);
  CHECK(result.plain_chroma == 0);
  CHECK(result.min_psnr == kMostPsnr);
  CHECK(result.median_psnr == kMostPsnr);
  CHECK(result.max_difference_red == 0);
}

TEST_CASE("chroma that is repeated and not smoothed is right too, and is counted") {
  const std::string stripes = striped_jpeg();
  JpegDecoder smooth;
  JpegDecoder plain({.smooth_chroma = false});
  // Against the smooth pixels alone it would pass for wrong.
  CHECK(pixel_difference(smooth.decode(as_bytes(stripes)).pixels, plain.decode(as_bytes(stripes)).pixels).psnr_db <
        kLeastPsnr);
  const PixelComparison result =
      comparison({.plain_chroma = true}, {stripes, jpeg_of({.subsampling = Subsampling::s444})});
  CHECK(result.compared == 4);
  CHECK(result.plain_chroma == 2);
  CHECK(result.min_psnr == kMostPsnr);
}

TEST_CASE("damaged images are not compared: decoders may make of the damage what they like") {
  std::string damaged = jpeg_of({}, 0, 200);
  damaged.replace(damaged.size() / 2, 2, "\xFF\xD3");  // a restart marker that has no business there
  JpegDecoder decoder;
  REQUIRE(decoder.decode(as_bytes(damaged)).failure == DecodeFailure::warned);
  const PixelComparison result = comparison({.inverted = is_image(damaged)}, {jpeg_of({}), damaged});
  CHECK(result.compared == 2);
  CHECK(result.damaged == 2);
}

TEST_CASE("what the CPU decodes anyhow is not compared") {
  CHECK(comparison({}, {jpeg_of({}), cmyk_jpeg(), kTinyPng}).compared == 2);
}

TEST_CASE("wrong pixels are reported with the image's name, the engine and the measure") {
  const std::string wrong = progressive_jpeg(5);
  const auto failure = failure_of([&] { comparison({.inverted = is_image(wrong)}, {jpeg_of({}), wrong}); });
  CHECK(failure == ErrorCode::corrupt);
  CHECK(failure.path.ends_with("/1.jpg"));
  CHECK(failure.says("with its hybrid engine"));
  CHECK(failure.says("dB compared with libjpeg-turbo"));
}

TEST_CASE("pixels that an earlier batch left in the memory do not pass for an image's own") {
  // The same image twice, a batch each time, and at the second it is not written.
  const std::string image = jpeg_of({});
  int times = 0;
  const FakeJpegDecoder::Chosen second = [&](Bytes jpeg) { return as_text(jpeg) == image && ++times == 3; };
  CHECK(failure_of([&] { comparison({.skipped = second}, {image, image, image}); }) == ErrorCode::corrupt);
}
