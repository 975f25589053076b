#include "image/resize.hpp"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "image/fixtures.hpp"

using namespace shardkit;
using namespace shardkit::image;
using namespace shardkit::test;

namespace {

/// Bilinear with half-pixel centers in double precision: what the fixed-point code must agree with to a level.
double reference(const PixelView& source, const CropBox& box, double x, double y, unsigned channel) {
  x = std::clamp(x, 0.0, box.width - 1.0);
  y = std::clamp(y, 0.0, box.height - 1.0);
  const auto at = [&](double px, double py) {
    const auto column = std::min(static_cast<std::uint32_t>(px), box.width - 1) + box.x;
    const auto row = std::min(static_cast<std::uint32_t>(py), box.height - 1) + box.y;
    return static_cast<double>(source.row(row)[column * 3 + channel]);
  };
  const double fx = x - std::floor(x);
  const double fy = y - std::floor(y);
  const double top = at(x, y) * (1 - fx) + at(x + 1, y) * fx;
  const double bottom = at(x, y + 1) * (1 - fx) + at(x + 1, y + 1) * fx;
  return top * (1 - fy) + bottom * fy;
}

std::vector<std::uint8_t> resized(BilinearResizer& resizer, const Picture& picture, const CropBox& box,
                                  std::uint32_t width, std::uint32_t height) {
  std::vector<std::uint8_t> source = picture.bytes;
  source.resize(source.size() + BilinearResizer::kReadBeyond);
  std::vector<std::uint8_t> target(std::size_t{width} * height * 3);
  resizer.resize({source, picture.width, picture.height}, box, width, height, target);
  return target;
}

}  // namespace

TEST_CASE("resizing agrees with the formula, up and down and at any place") {
  const Picture picture = make_picture(120, 90);
  BilinearResizer resizer;
  for (const CropBox& box :
       {CropBox{0, 0, 120, 90}, CropBox{7, 11, 31, 64}, CropBox{119, 89, 1, 1}, CropBox{3, 0, 2, 90}}) {
    const std::uint32_t width = 56;
    const std::uint32_t height = 40;
    const auto target = resized(resizer, picture, box, width, height);
    for (std::uint32_t y = 0; y < height; ++y) {
      for (std::uint32_t x = 0; x < width; ++x) {
        for (unsigned c = 0; c < 3; ++c) {
          const double expected = reference(picture.view(), box, (x + 0.5) * box.width / width - 0.5,
                                            (y + 0.5) * box.height / height - 0.5, c);
          REQUIRE(std::abs(target[(y * width + x) * 3 + c] - expected) < 1.6);
        }
      }
    }
  }
}

TEST_CASE("the same size is the same picture") {
  const Picture picture = make_picture(50, 40);
  BilinearResizer resizer;
  CHECK((resized(resizer, picture, {0, 0, 50, 40}, 50, 40) == picture.bytes));
}

TEST_CASE("white stays white") {
  const Picture white{std::vector<std::uint8_t>(30 * 20 * 3, 255), 30, 20, 3};
  BilinearResizer resizer;
  const auto target = resized(resizer, white, {1, 1, 28, 18}, 64, 64);
  CHECK(std::all_of(target.begin(), target.end(), [](std::uint8_t v) { return v == 255; }));
}

TEST_CASE("a reused resizer gives what a fresh one gives") {
  const Picture small = make_picture(20, 200);
  const Picture wide = make_picture(200, 20);
  BilinearResizer kept;
  for (int i = 0; i < 3; ++i) {
    BilinearResizer fresh;
    BilinearResizer other;
    CHECK((resized(kept, small, {0, 5, 20, 150}, 33, 17) == resized(fresh, small, {0, 5, 20, 150}, 33, 17)));
    CHECK((resized(kept, wide, {9, 0, 90, 20}, 17, 33) == resized(other, wide, {9, 0, 90, 20}, 17, 33)));
  }
}
