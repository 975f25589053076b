#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "image/fixtures.hpp"
#include "image/resize.hpp"

using namespace shardkit;
using namespace shardkit::image;
using namespace shardkit::test;

namespace {

/// The filter's formula in double precision along one side: for each target pixel the weights of all source pixels.
std::vector<std::vector<double>> weights(std::uint32_t pixels, double size, std::uint32_t target) {
  const double scale = size / target;
  const double radius = std::max(1.0, scale);
  std::vector<std::vector<double>> all;
  for (std::uint32_t i = 0; i < target; ++i) {
    std::vector<double>& row = all.emplace_back(pixels);
    double sum = 0;
    for (std::uint32_t p = 0; p < pixels; ++p) {
      row[p] = std::max(0.0, 1 - std::abs((p + 0.5) - (i + 0.5) * scale) / radius);
      sum += row[p];
    }
    for (double& weight : row) weight /= sum;
  }
  return all;
}

double reference(const PixelView& source, const std::vector<double>& across, const std::vector<double>& down,
                 unsigned channel) {
  double level = 0;
  for (std::uint32_t y = 0; y < source.height; ++y) {
    if (down[y] == 0) continue;
    for (std::uint32_t x = 0; x < source.width; ++x) {
      if (across[x] != 0) level += down[y] * across[x] * source.row(y)[x * source.channels + channel];
    }
  }
  return level;
}

std::vector<std::uint8_t> resized(AntialiasResizer& resizer, const Picture& picture, const PictureExtent& extent,
                                  std::uint32_t width, std::uint32_t height) {
  std::vector<std::uint8_t> target(std::size_t{width} * height * picture.channels);
  resizer.resize(picture.view(), extent, width, height, target);
  return target;
}

std::vector<std::uint8_t> resized(const Picture& picture, std::uint32_t width, std::uint32_t height) {
  AntialiasResizer resizer;
  return resized(resizer, picture, {picture.width, picture.height}, width, height);
}

}  // namespace

TEST_CASE("shrinking agrees with the formula, rounded, for any factor and any part of the last pixel") {
  struct Case {
    std::uint32_t width;
    std::uint32_t height;
    PictureExtent extent;
    std::uint32_t to_width;
    std::uint32_t to_height;
  };
  AntialiasResizer resizer;
  for (const auto& [width, height, extent, to_width, to_height] : {Case{120, 90, {120, 90}, 64, 48},
                                                                   {120, 90, {120, 90}, 119, 89},
                                                                   {120, 90, {120, 90}, 7, 5},
                                                                   {120, 90, {120, 90}, 1, 1},
                                                                   {120, 1, {120, 1}, 33, 1},
                                                                   {1, 90, {1, 90}, 1, 89},
                                                                   {61, 38, {121, 75, 2}, 40, 25},
                                                                   {16, 12, {121, 89, 8}, 13, 10},
                                                                   {120, 90, {120, 90}, 130, 90}}) {
    for (const unsigned channels : {1U, 3U}) {
      CAPTURE(to_width);
      CAPTURE(to_height);
      const Picture picture = make_picture(width, height, channels);
      const auto target = resized(resizer, picture, extent, to_width, to_height);
      const auto across = weights(width, static_cast<double>(extent.width) / extent.divisor, to_width);
      const auto down = weights(height, static_cast<double>(extent.height) / extent.divisor, to_height);
      for (std::size_t i = 0; i < target.size(); ++i) {
        const std::size_t pixel = i / channels;
        const double expected = reference(picture.view(), across[pixel % to_width], down[pixel / to_width],
                                          static_cast<unsigned>(i % channels));
        REQUIRE(std::abs(target[i] - expected) < 0.75);
      }
    }
  }
}

TEST_CASE("a level is rounded half up") {
  const Picture steps{{10, 11, 20, 20, 30, 33}, 6, 1, 1};
  CHECK(resized(Picture{{10, 11}, 2, 1, 1}, 1, 1) == std::vector<std::uint8_t>{11});
  CHECK(resized(steps, 6, 1) == steps.bytes);
}

TEST_CASE("the same size is the same picture") {
  const Picture picture = make_picture(50, 40);
  CHECK((resized(picture, 50, 40) == picture.bytes));
}

TEST_CASE("flat pictures stay flat, white and black too, however much smaller") {
  for (const int value : {0, 1, 127, 254, 255}) {
    const auto level = static_cast<std::uint8_t>(value);
    for (const std::uint32_t side : {1U, 3U, 40U, 199U}) {
      const Picture flat{std::vector<std::uint8_t>(200 * 300 * 3, level), 200, 300, 3};
      const auto target = resized(flat, side, side);
      CHECK(std::all_of(target.begin(), target.end(), [&](std::uint8_t v) { return v == level; }));
    }
  }
}

TEST_CASE("stripes finer than the target's pixels become gray, not other stripes") {
  Picture stripes{{}, 512, 8, 1};
  for (std::size_t i = 0; i < 512 * 8; ++i) stripes.bytes.push_back(i % 2 == 0 ? 0 : 255);
  const auto target = resized(stripes, 200, 8);
  for (const std::uint8_t level : target) CHECK(std::abs(level - 128) < 40);
  const auto smaller = resized(stripes, 40, 8);
  for (const std::uint8_t level : smaller) CHECK(std::abs(level - 128) < 8);
}

TEST_CASE("the largest sides are resized without overflow") {
  const Picture wide{std::vector<std::uint8_t>(65500, 255), 65500, 1, 1};
  for (const std::uint32_t width : {65499U, 700U, 1U}) {
    const auto target = resized(wide, width, 1);
    CHECK(std::all_of(target.begin(), target.end(), [](std::uint8_t v) { return v == 255; }));
  }
}

TEST_CASE("a reused resizer gives what a fresh one gives") {
  const Picture tall = make_picture(20, 200);
  const Picture wide = make_picture(200, 20, 1);
  AntialiasResizer kept;
  for (int i = 0; i < 3; ++i) {
    CHECK((resized(kept, tall, {20, 200}, 13, 17) == resized(tall, 13, 17)));
    CHECK((resized(kept, wide, {200, 20}, 170, 13) == resized(wide, 170, 13)));
  }
}
