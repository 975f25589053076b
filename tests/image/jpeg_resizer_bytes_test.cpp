// What a resize does with bytes that are damaged, must be few, or say more than pixels.

#include <algorithm>
#include <array>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "image/resizer_support.hpp"

using namespace shardkit;
using namespace shardkit::image;
using namespace shardkit::test;

namespace {

bool same_bytes(Bytes a, Bytes b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

}  // namespace

TEST_CASE("an orientation is carried over and not applied, all other metadata is dropped") {
  JpegResizer resizer({.shorter = 60});
  for (unsigned orientation = 1; orientation <= 8; ++orientation) {
    const ByteVector behind_jfif = encode(make_picture(200, 100), {.orientation = orientation});
    // Cameras put Exif first and write no JFIF: the 18 bytes between start-of-image and Exif.
    ByteVector exif_alone = behind_jfif;
    exif_alone.erase(exif_alone.begin() + 2, exif_alone.begin() + 20);
    ByteVector exif_first = exif_alone;  // and in front of JFIF
    exif_first.insert(exif_first.begin() + (orientation == 1 ? 2 : 38), behind_jfif.begin() + 2,
                      behind_jfif.begin() + 20);
    for (const ByteVector& jpeg : {behind_jfif, exif_alone, exif_first}) {
      REQUIRE(read_jpeg_header(jpeg).header.orientation == orientation);
      const Resized result = resizer.resize(jpeg, kAnySize);
      const JpegHeader header = header_of(result);
      CHECK(header.orientation == orientation);
      CHECK(header.width == 120);
      CHECK(header.height == 60);
      CHECK((as_text(result.jpeg).find("Exif") != std::string_view::npos) == (orientation != 1));
    }
  }
  ByteVector commented = encode(200, 100);
  const Bytes comment = as_bytes(std::string_view("\xFF\xFE\0\x08secret", 10));
  commented.insert(commented.begin() + 20, comment.begin(), comment.end());
  const Resized result = resizer.resize(commented, kAnySize);
  CHECK(result.changed);
  CHECK(as_text(result.jpeg).find("secret") == std::string_view::npos);
}

TEST_CASE("what is damaged or no JPEG is a failure without bytes") {
  JpegResizer resizer({.shorter = 40});
  const auto failure_of = [&](Bytes bytes) {
    const Resized result = resizer.resize(bytes, kAnySize);
    CHECK_FALSE(result.changed);
    CHECK(result.jpeg.empty());
    return result.failure;
  };
  const ByteVector sound = encode(160, 120);
  for (std::size_t size = 4; size + 1 < sound.size(); size += 101) {
    CHECK(failure_of(Bytes(sound).first(size)) == DecodeFailure::truncated);
  }
  ByteVector damaged = sound;
  damaged.at(sound.size() / 2) = std::byte{0xFF};
  damaged.at(sound.size() / 2 + 1) = std::byte{0xD3};  // a marker where none belongs
  CHECK(failure_of(damaged) == DecodeFailure::warned);
  CHECK(failure_of(as_bytes("\x89PNG\r\n\x1A\n and so on")) == DecodeFailure::not_jpeg);
  CHECK(resizer.resize(as_bytes("\x89PNG\r\n\x1A\n and so on"), 0).message == "PNG");
  CHECK(failure_of({}) == DecodeFailure::not_jpeg);
  const std::array<std::byte, 2> frame{std::byte{0xFF}, std::byte{0xC0}};
  const auto size_at = std::search(sound.begin(), sound.end(), frame.begin(), frame.end()) - sound.begin() + 5;
  ByteVector empty = sound;
  std::fill_n(empty.begin() + size_at, 2, std::byte{0});
  CHECK(failure_of(empty) == DecodeFailure::zero_pixels);
  ByteVector huge = sound;
  std::fill_n(huge.begin() + size_at, 4, std::byte{0xF0});
  CHECK(failure_of(huge) == DecodeFailure::too_large);
  CHECK(resizer.resize(sound, kAnySize).changed);
}

TEST_CASE("any flipped byte gives a sound smaller image, the input or a failure") {
  const ByteVector sound = encode(48, 40);
  JpegResizer resizer({.shorter = 16});
  JpegDecoder decoder;
  for (std::size_t at = 0; at < sound.size(); ++at) {
    ByteVector jpeg = sound;
    jpeg[at] ^= std::byte{0xFF};
    const Resized result = resizer.resize(jpeg, kAnySize);
    if (result.changed) CHECK(decoder.decode(result.jpeg).failure == DecodeFailure::none);
    CHECK((result.failure == DecodeFailure::none) == !result.jpeg.empty());
    if (!result.changed && !result.jpeg.empty()) CHECK(same_bytes(result.jpeg, jpeg));
  }
}

TEST_CASE("where the result must be small quality falls step by step, and at last the input stays") {
  const ByteVector jpeg = encode(make_picture(300, 200), {.quality = 92});
  JpegResizer resizer({.shorter = 190, .quality = 93});
  std::size_t most = kAnySize;
  int quality = 93;
  for (const int expected : {93, 88, 83, 78, 73, 68, 63, 58, 53, 48, 43, 38, 33, 28, 23, 18, 13, 10, 10}) {
    const Resized result = resizer.resize(jpeg, most);
    REQUIRE(result.changed);
    CHECK(result.jpeg.size() <= most);
    CHECK(result.quality == expected);
    CHECK(header_of(result).height == 190);
    quality = result.quality;
    most = result.jpeg.size() - 1;
  }
  CHECK(quality == 10);
  const Resized result = resizer.resize(jpeg, most);
  CHECK(result.failure == DecodeFailure::none);
  CHECK_FALSE(result.changed);
  CHECK(same_bytes(result.jpeg, jpeg));
  JpegResizer coarse({.shorter = 190, .quality = 7});
  CHECK(coarse.resize(jpeg, kAnySize).quality == 7);
  CHECK_FALSE(coarse.resize(jpeg, 100).changed);
}

TEST_CASE("options that make no image are a usage error") {
  CHECK_THROWS_AS(JpegResizer({.shorter = 0}), Error);
  CHECK_THROWS_AS(JpegResizer({.quality = 0}), Error);
  CHECK_THROWS_AS(JpegResizer({.quality = 101}), Error);
}

TEST_CASE("one resizer over mixed images gives what a fresh one gives, every time") {
  const std::vector<ByteVector> jpegs{
      encode(400, 300), encode(120, 500, 1), encode_raw(make_picture(90, 80, 4), {}),   encode(1000, 12),
      encode(64, 64),   ByteVector(40),      encode_raw(make_picture(210, 160), {1, 2})};
  JpegResizer kept({.shorter = 40});
  Prng order(3);
  for (int i = 0; i < 100; ++i) {
    const ByteVector& jpeg = jpegs.at(order.below(jpegs.size()));
    const std::size_t most = order.below(2) == 0 ? kAnySize : 1200;
    JpegResizer fresh({.shorter = 40});
    const Resized a = kept.resize(jpeg, most);
    const Resized b = fresh.resize(jpeg, most);
    REQUIRE(a.failure == b.failure);
    REQUIRE(a.changed == b.changed);
    REQUIRE(a.quality == b.quality);
    REQUIRE(same_bytes(a.jpeg, b.jpeg));
  }
}
