#include <string>

#include <doctest/doctest.h>

#include "image/fixtures.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_encoder.hpp"

using namespace shardkit;
using namespace shardkit::image;
using namespace shardkit::test;

namespace {

ByteVector some_jpeg(const EncodeOptions& options = {}) {
  JpegEncoder encoder;
  return copy_of(encoder.encode(make_picture(33, 21).view(), options));
}

/// `jpeg` with a segment put in behind the start-of-image marker.
ByteVector with_segment(const ByteVector& jpeg, unsigned char marker, const std::string& body) {
  std::string segment{'\xFF', static_cast<char>(marker), '\0', static_cast<char>(body.size() + 2)};
  segment += body;
  ByteVector out = jpeg;
  const Bytes bytes = as_bytes(segment);
  out.insert(out.begin() + 2, bytes.begin(), bytes.end());
  return out;
}

/// Exif with one entry, the orientation, in either byte order.
std::string exif(char orientation, bool little) {
  using namespace std::string_literals;
  if (little) return "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0"s + orientation + "\0\0\0\0\0\0\0"s;
  return "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"s + orientation + "\0\0\0\0\0\0"s;
}

}  // namespace

TEST_CASE("the orientation is found wherever Exif's directory is") {
  for (const bool little : {true, false}) {
    for (const std::size_t gap : {0U, 8U, 40U}) {
      std::string moved = exif(6, little);
      moved[6 + (little ? 4 : 7)] = static_cast<char>(8 + gap);
      moved.insert(6 + 8, gap, '\0');
      CHECK(read_jpeg_header(with_segment(some_jpeg(), 0xE1, moved)).header.orientation == 6);
    }
  }
}

TEST_CASE("the header's facts are read") {
  const JpegHeaderResult read = read_jpeg_header(some_jpeg({.subsampling = Subsampling::s422, .progressive = true}));
  REQUIRE(read.status == JpegHeaderStatus::ok);
  CHECK(read.header.width == 33);
  CHECK(read.header.height == 21);
  CHECK(read.header.components == 3);
  CHECK(read.header.subsampling == Subsampling::s422);
  CHECK(read.header.progressive);
  CHECK(read.header.orientation == 1);
  CHECK_FALSE(read.header.is_cmyk());
}

TEST_CASE("CMYK and Adobe's marker are seen") {
  const Picture picture = make_picture(20, 20, 4);
  const JpegHeaderResult read = read_jpeg_header(encode_raw(picture, {.adobe_marker = true}));
  REQUIRE(read.status == JpegHeaderStatus::ok);
  CHECK(read.header.is_cmyk());
  CHECK(read.header.adobe);
  CHECK(read.header.adobe_transform == 0);
}

TEST_CASE("sampling factors get their names") {
  const Picture picture = make_picture(40, 40);
  CHECK(read_jpeg_header(encode_raw(picture, {1, 2})).header.subsampling == Subsampling::s440);
  CHECK(read_jpeg_header(encode_raw(picture, {4, 1})).header.subsampling == Subsampling::s411);
  CHECK(read_jpeg_header(encode_raw(picture, {2, 4})).header.subsampling == Subsampling::other);
  CHECK(enum_name(Subsampling::s440) == "4:4:0");
}

TEST_CASE("Exif orientation is read in both byte orders, and nonsense is upright") {
  const ByteVector jpeg = some_jpeg();
  for (const bool little : {false, true}) {
    CHECK(read_jpeg_header(with_segment(jpeg, 0xE1, exif(6, little))).header.orientation == 6);
    CHECK(read_jpeg_header(with_segment(jpeg, 0xE1, exif(9, little))).header.orientation == 1);
    const std::string whole = exif(8, little);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const JpegHeaderResult read = read_jpeg_header(with_segment(jpeg, 0xE1, whole.substr(0, size)));
      CHECK(read.status == JpegHeaderStatus::ok);
    }
  }
}

TEST_CASE("a header cut at any length is truncated, and only there") {
  const ByteVector jpeg = some_jpeg();
  const JpegHeaderResult whole = read_jpeg_header(jpeg);
  REQUIRE(whole.status == JpegHeaderStatus::ok);
  for (std::size_t size = 0; size < jpeg.size(); ++size) {
    CAPTURE(size);
    const JpegHeaderStatus status = read_jpeg_header(Bytes(jpeg).first(size)).status;
    const JpegHeaderStatus expected = size < 2                          ? JpegHeaderStatus::not_jpeg
                                      : size < whole.header.scan_offset ? JpegHeaderStatus::truncated
                                                                        : JpegHeaderStatus::ok;
    REQUIRE(status == expected);
  }
}

TEST_CASE("segments that contradict the format are corrupt") {
  const ByteVector jpeg = some_jpeg();
  ByteVector short_length = with_segment(jpeg, 0xE2, "x");
  short_length.at(5) = std::byte{1};
  CHECK(read_jpeg_header(short_length).status == JpegHeaderStatus::corrupt);
  CHECK(read_jpeg_header(as_bytes("\xFF\xD8\xFF\xD9")).status == JpegHeaderStatus::corrupt);
  using namespace std::string_literals;
  const std::string two_components = "\x08\0\x10\0\x10\x02\x01\x11\0\x02\x11\0"s;
  CHECK(read_jpeg_header(with_segment(jpeg, 0xC0, two_components)).status == JpegHeaderStatus::corrupt);
  const std::string factor_zero = "\x08\0\x10\0\x10\x01\x01\x10\0"s;
  CHECK(read_jpeg_header(with_segment(jpeg, 0xC0, factor_zero)).status == JpegHeaderStatus::corrupt);
  const std::string scan_without_frame = "\xFF\xD8\xFF\xDA\0\x02"s;
  CHECK(read_jpeg_header(as_bytes(scan_without_frame)).status == JpegHeaderStatus::corrupt);
}

TEST_CASE("any flipped header byte is read without harm") {
  const ByteVector sound = some_jpeg();
  const std::size_t scan = read_jpeg_header(sound).header.scan_offset;
  std::size_t still_fine = 0;
  for (std::size_t at = 0; at < scan; ++at) {
    for (const std::byte flip : {std::byte{0x01}, std::byte{0x80}, std::byte{0xFF}}) {
      ByteVector jpeg = sound;
      jpeg[at] ^= flip;
      still_fine += read_jpeg_header(jpeg).status == JpegHeaderStatus::ok ? 1 : 0;
    }
  }
  CHECK(still_fine < 3 * scan);
}

TEST_CASE("the end-of-image marker counts only behind the scan's start") {
  const ByteVector jpeg = some_jpeg();
  const std::size_t scan = read_jpeg_header(jpeg).header.scan_offset;
  CHECK(end_of_image(jpeg, scan) == jpeg.size());
  CHECK(end_of_image(Bytes(jpeg).first(jpeg.size() - 1), scan) == std::nullopt);
  CHECK(end_of_image(jpeg, jpeg.size()) == std::nullopt);
  const ByteVector with_thumbnail = with_segment(jpeg, 0xE3, "thumb\xFF\xD9");
  const JpegHeaderResult read = read_jpeg_header(with_thumbnail);
  REQUIRE(read.status == JpegHeaderStatus::ok);
  const Bytes cut = Bytes(with_thumbnail).first(with_thumbnail.size() - 2);
  CHECK(end_of_image(cut, read.header.scan_offset) == std::nullopt);
}
