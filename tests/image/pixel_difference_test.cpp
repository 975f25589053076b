#include <doctest/doctest.h>

#include "image/fixtures.hpp"
#include "image/jpeg_decoder.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::image;
using namespace shardkit::test;

TEST_CASE("equal images differ by nothing") {
  const Picture picture = make_picture(31, 7);
  const PixelDifference difference = pixel_difference(picture.view(), picture.view());
  CHECK(difference.psnr_db == kMostPsnr);
  CHECK(difference.largest == std::array<std::uint8_t, 3>{0, 0, 0});
}

TEST_CASE("the PSNR is that of all values, the largest difference that of each channel") {
  Picture a{std::vector<std::uint8_t>(2 * 2 * 3, 100), 2, 2};
  Picture b = a;
  b.bytes[1] = 112;  // green of the first pixel
  b.bytes[11] = 95;  // blue of the last
  const PixelDifference difference = pixel_difference(a.view(), b.view());
  CHECK(difference.largest == std::array<std::uint8_t, 3>{0, 12, 5});
  // (144 + 25) / 12 = 14.083; 65025 / 14.083 = 4617.2; 10 log10 of that is 36.644
  CHECK(difference.psnr_db == doctest::Approx(36.644).epsilon(1e-5));
  CHECK(pixel_difference(b.view(), a.view()).psnr_db == difference.psnr_db);
}

TEST_CASE("black against white is 0 dB") {
  const Picture black{std::vector<std::uint8_t>(12, 0), 2, 2};
  const Picture white{std::vector<std::uint8_t>(12, 255), 2, 2};
  CHECK(pixel_difference(black.view(), white.view()).psnr_db == doctest::Approx(0));
}

TEST_CASE("images of other sides or channels are refused") {
  const Picture picture = make_picture(8, 4);
  const Picture turned = make_picture(4, 8);
  const Picture gray = make_picture(8, 4, 1);
  CHECK(shardkit_test::failure_of([&] { pixel_difference(picture.view(), turned.view()); }) == ErrorCode::usage);
  CHECK(shardkit_test::failure_of([&] { pixel_difference(gray.view(), gray.view()); }) == ErrorCode::usage);
}
