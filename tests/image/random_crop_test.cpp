#include <algorithm>
#include <utility>

#include <doctest/doctest.h>

#include "image/augment.hpp"

using namespace shardkit;
using namespace shardkit::image;

TEST_CASE("a drawn crop lies in the image and is a function of the generator") {
  Prng prng(1);
  Prng again(1);
  for (int i = 0; i < 5000; ++i) {
    const auto width = static_cast<std::uint32_t>(1 + prng.below(700));
    const auto height = static_cast<std::uint32_t>(1 + prng.below(700));
    again.below(700);
    again.below(700);
    const CropBox box = draw_resized_crop(width, height, prng);
    REQUIRE(box == draw_resized_crop(width, height, again));
    REQUIRE(box.width >= 1);
    REQUIRE(box.height >= 1);
    REQUIRE(box.x + box.width <= width);
    REQUIRE(box.y + box.height <= height);
  }
}

TEST_CASE("areas and ratios spread over torchvision's ranges") {
  Prng prng(2);
  double smallest = 1;
  double largest = 0;
  double area_sum = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const CropBox box = draw_resized_crop(1000, 1000, prng);
    const double area = box.width * double{1} * box.height / 1e6;
    const double ratio = static_cast<double>(box.width) / box.height;
    REQUIRE(ratio > 0.745);
    REQUIRE(ratio < 1.342);
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
    area_sum += area;
  }
  CHECK(smallest == doctest::Approx(0.08).epsilon(0.02));
  CHECK(largest > 0.97);
  CHECK(area_sum / kDraws == doctest::Approx(0.53).epsilon(0.05));
}

TEST_CASE("a crop may be as wide, as high and as large as the image") {
  Prng prng(4);
  int as_wide = 0, as_high = 0, whole = 0;
  for (int i = 0; i < 4000; ++i) {
    const CropBox box = draw_resized_crop(8, 8, prng);
    as_wide += box.width == 8 ? 1 : 0;
    as_high += box.height == 8 ? 1 : 0;
    whole += box.width == 8 && box.height == 8 ? 1 : 0;
  }
  CHECK(as_wide > 400);
  CHECK(as_high > 400);
  CHECK(whole > 100);
}

TEST_CASE("an image too long for any draw gets its largest allowed central crop") {
  Prng prng(3);
  CHECK(draw_resized_crop(3000, 3, prng) == CropBox{1498, 0, 4, 3});
  CHECK(draw_resized_crop(3, 3000, prng) == CropBox{0, 1498, 3, 4});
}
