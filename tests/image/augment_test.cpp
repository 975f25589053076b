#include "image/augment.hpp"

#include <cstring>

#include <doctest/doctest.h>

#include "image/fixtures.hpp"
#include "image/tensor_type.hpp"

using namespace shardkit;
using namespace shardkit::image;
using namespace shardkit::test;

namespace {

/// What stands at a place of the tensor, by the definition.
std::uint8_t level_at(const Picture& picture, bool flip, std::uint32_t x, std::uint32_t y, unsigned channel) {
  const std::uint32_t from = flip ? picture.width - 1 - x : x;
  return picture.bytes[(std::size_t{y} * picture.width + from) * 3 + channel];
}

float normalized(std::uint8_t level, unsigned channel) {
  return (static_cast<float>(level) / 255.0F - kImageNetMean[channel]) / kImageNetDeviation[channel];
}

std::size_t offset_of(const Picture& picture, std::uint32_t x, std::uint32_t y, unsigned channel) {
  return (std::size_t{channel} * picture.height + y) * picture.width + x;
}

template <class T>
std::vector<T> augmented(TensorType type, const Picture& picture, bool flip) {
  Augmenter augmenter(type);
  std::vector<T> tensor(picture.bytes.size());
  augmenter.augment(picture.view(), flip, std::as_writable_bytes(std::span(tensor)));
  return tensor;
}

/// Calls `check(place, level, channel)` for every value of the tensor.
template <class Check>
void for_each_value(const Picture& picture, bool flip, const Check& check) {
  for (std::uint32_t y = 0; y < picture.height; ++y) {
    for (std::uint32_t x = 0; x < picture.width; ++x) {
      for (unsigned c = 0; c < 3; ++c) check(offset_of(picture, x, y, c), level_at(picture, flip, x, y, c), c);
    }
  }
}

}  // namespace

TEST_CASE("every value is in the plane of its channel, flipped or not, in each type") {
  for (const Picture& picture : {make_picture(13, 7), make_picture(1, 1), make_picture(64, 3)}) {
    for (const bool flip : {false, true}) {
      const auto u8 = augmented<std::uint8_t>(TensorType::u8, picture, flip);
      const auto f32 = augmented<float>(TensorType::f32, picture, flip);
      const auto f16 = augmented<std::uint16_t>(TensorType::f16, picture, flip);
      for_each_value(picture, flip, [&](std::size_t at, std::uint8_t level, unsigned channel) {
        REQUIRE(u8[at] == level);
        REQUIRE(f32[at] == normalized(level, channel));
        REQUIRE(f16[at] == to_half(normalized(level, channel)));
      });
    }
  }
}

TEST_CASE("one augmenter serves pictures of changing sizes") {
  Augmenter kept(TensorType::f32);
  for (const Picture& picture : {make_picture(9, 4), make_picture(31, 2), make_picture(9, 4)}) {
    std::vector<float> tensor(picture.bytes.size());
    kept.augment(picture.view(), true, std::as_writable_bytes(std::span(tensor)));
    CHECK((tensor == augmented<float>(TensorType::f32, picture, true)));
  }
}

TEST_CASE("black and white of the red channel are the published numbers") {
  const Picture black{std::vector<std::uint8_t>(3, 0), 1, 1, 3};
  const Picture white{std::vector<std::uint8_t>(3, 255), 1, 1, 3};
  CHECK(augmented<float>(TensorType::f32, black, false)[0] == doctest::Approx(-2.1179).epsilon(1e-4));
  CHECK(augmented<float>(TensorType::f32, white, false)[0] == doctest::Approx(2.2489).epsilon(1e-4));
}

TEST_CASE("half of the samples are flipped, the same ones for a seed") {
  Prng first(7);
  Prng again(7);
  int flips = 0;
  for (int i = 0; i < 10'000; ++i) {
    const bool flip = draw_flip(first);
    REQUIRE(flip == draw_flip(again));
    flips += flip ? 1 : 0;
  }
  CHECK(flips > 4'800);
  CHECK(flips < 5'200);
}

TEST_CASE("the sizes of values") {
  CHECK(value_bytes(TensorType::u8) == 1);
  CHECK(value_bytes(TensorType::f16) == 2);
  CHECK(value_bytes(TensorType::f32) == 4);
}
