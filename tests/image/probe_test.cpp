#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "image/fixtures.hpp"
#include "image/image_header.hpp"
#include "image/image_problem.hpp"
#include "image/jpeg_encoder.hpp"

using namespace shardkit;
using namespace shardkit::image;
using namespace shardkit::test;
using namespace std::string_literals;

namespace {

const std::string kPng =
    "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\x01\x02\0\0\0\x07\x08\x02\0\0\0crc!\0\0\0\0IEND\xAE\x42\x60\x82"s;
const std::string kGif = "GIF89a\x05\x01\x03\0\0\0\0;"s;  // without a frame
const std::string kBmp = "BM" + std::string(16, '\0') + "\x0A\0\0\0\xFB\xFF\xFF\xFF"s + std::string(28, '\0');

std::string webp(const std::string& chunk_and_body) {
  const std::string payload = "WEBP" + chunk_and_body;
  return "RIFF"s + static_cast<char>(payload.size()) + "\0\0\0"s + payload;
}
const std::string kLossy = webp("VP8 \x0A\0\0\0\x30\x01\0\x9D\x01\x2A\x40\x01\xF0\0"s);
const std::string kLossless = webp("VP8L\x0A\0\0\0\x2F\x3F\x41\x3B\0\0\0\0\0\0"s);
const std::string kExtended = webp("VP8X\x0A\0\0\0\0\0\0\0\x3F\x01\0\xEF\0\0"s);

ByteVector some_jpeg() {
  JpegEncoder encoder;
  return copy_of(encoder.encode(make_picture(33, 21).view(), {}));
}

const std::string kPgm = "P5 # gray\n2 3\n255\nabcdef"s;
const std::string kDeep = "P6\n1 1\n65535\nabcdef"s;
const std::string kBits = "P4\n9 2\nabcd"s;
/// A BMP of 8 x 5 pixels of 24 bits: rows of 24 bytes.
const std::string kRows = "BM"s + std::string(8, '\0') + "\x36\0\0\0\x28\0\0\0\x08\0\0\0\xFB\xFF\xFF\xFF\1\0\x18\0"s +
                          std::string(24 + 5 * 24, '\0');
/// 2 x 2 gray pixels.
std::string tiff(bool little, bool directory_first) {
  const auto number = [&](unsigned value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * (little ? i : bytes - 1 - i));
    return text;
  };
  const unsigned size = 2 + 4 * 12 + 4;
  const unsigned directory = directory_first ? 8 : 12;
  std::string tags = number(4, 2);
  for (const auto& [tag, value] :
       {std::pair{256U, 2U}, {257U, 2U}, {258U, 8U}, {273U, directory_first ? 8 + size : 8}}) {
    tags += number(tag, 2) + number(4, 2) + number(1, 4) + number(value, 4);
  }
  tags += number(0, 4);
  const std::string head = (little ? "II" : "MM") + number(42, 2) + number(directory, 4);
  return directory_first ? head + tags + "rows" : head + "rows" + tags;
}
const std::string kTiff = tiff(true, true);
const std::string kBigEndianTiff = tiff(false, true);

std::string name_of(const std::optional<ImageProblem>& problem) {
  return problem ? std::string(enum_name(problem->flaw)) : "none";
}
std::string problem_of(Bytes file, std::string_view extension) { return name_of(header_problem(file, extension)); }
std::string ends_of(Bytes file, std::string_view extension) { return name_of(ends_problem(file, extension)); }

/// Sound files of the kinds that say where they end, with their extensions.
std::vector<std::pair<std::string, std::string>> files_with_ends() {
  return {{std::string(as_text(some_jpeg())), ".jpg"},
          {kPng, ".png"},
          {kLossy, ".webp"},
          {kLossless, ".webp"},
          {kExtended, ".webp"},
          {kRows, ".bmp"},
          {kPgm, ".pgm"},
          {kDeep, ".ppm"},
          {kBits, ".pbm"},
          {kTiff, ".tif"},
          {kBigEndianTiff, ".tiff"}};
}

}  // namespace

TEST_CASE("kinds are recognized by their first bytes") {
  CHECK(sniff_image(some_jpeg()) == ImageKind::jpeg);
  CHECK(sniff_image(as_bytes(kPng)) == ImageKind::png);
  CHECK(sniff_image(as_bytes(kGif)) == ImageKind::gif);
  CHECK(sniff_image(as_bytes(kLossy)) == ImageKind::webp);
  CHECK(sniff_image(as_bytes(kBmp)) == ImageKind::bmp);
  CHECK(sniff_image(as_bytes("II*\0rest"s)) == ImageKind::tiff);
  CHECK(sniff_image(as_bytes("MM\0*rest"s)) == ImageKind::tiff);
  CHECK(sniff_image(as_bytes("II+\0rest"s)) == ImageKind::tiff);  // BigTIFF
  CHECK(sniff_image(as_bytes("P6\n4 4 255\n")) == ImageKind::pnm);
  CHECK(sniff_image(as_bytes("\0\0\0\x1C"s + "ftypheic")) == ImageKind::heic);
  CHECK(sniff_image(as_bytes("\0\0\0\x1C"s + "ftypavif")) == ImageKind::avif);
  CHECK(sniff_image(as_bytes("\0\0\0\x1C"s + "ftypisom")) == ImageKind::unknown);  // MP4
  CHECK(sniff_image(as_bytes("P7\n")) == ImageKind::unknown);
  CHECK(sniff_image(as_bytes("RIFFxxxxWAVE")) == ImageKind::unknown);
  CHECK(sniff_image({}) == ImageKind::unknown);
  CHECK(enum_name(ImageKind::webp) == "WebP");
}

TEST_CASE("sizes are read from each kind's header") {
  CHECK(image_size(some_jpeg()) == ImageSize{33, 21});
  CHECK(image_size(as_bytes(kPng)) == ImageSize{258, 7});
  CHECK(image_size(as_bytes(kGif)) == ImageSize{261, 3});
  CHECK(image_size(as_bytes(kBmp)) == ImageSize{10, 5});  // stored as -5: rows from the top
  CHECK(image_size(as_bytes(kLossy)) == ImageSize{320, 240});
  CHECK(image_size(as_bytes(kLossless)) == ImageSize{320, 238});
  CHECK(image_size(as_bytes(kExtended)) == ImageSize{320, 240});
  CHECK(image_size(as_bytes("P6\n4 4 255\n")) == std::nullopt);
}

TEST_CASE("sound files have no problem, whatever the case of their extension") {
  CHECK(problem_of(some_jpeg(), ".JPEG") == "none");
  CHECK(problem_of(some_jpeg(), "jpg") == "none");
  CHECK(problem_of(as_bytes(kPng), ".png") == "none");
  CHECK(problem_of(as_bytes(kLossy), ".webp") == "none");
  CHECK(problem_of(as_bytes("P5 1 1 255 x"), ".pgm") == "none");
  CHECK(problem_of(as_bytes("P2 1 2 255 7 # seven\n255"), ".pgm") == "none");
  CHECK(problem_of(as_bytes(tiff(true, false)), ".tif") == "none");
  CHECK(problem_of(as_bytes(kPng), ".data") == "none");
}

TEST_CASE("each problem has its code, and a text for people") {
  CHECK(problem_of({}, ".jpg") == "empty");
  CHECK(problem_of(as_bytes("<html>"), ".jpg") == "not_an_image");
  CHECK(problem_of(as_bytes(kPng), ".JPEG") == "other_format");
  CHECK(header_problem(as_bytes(kPng), ".JPEG")->text == "the name says JPEG but the content is PNG");
  CHECK(problem_of(as_bytes("\xFF\xD8\xFF\xD9"), ".jpg") == "corrupt_header");
  std::string flat = kPng;
  flat.replace(16, 4, 4, '\0');
  CHECK(problem_of(as_bytes(flat), ".png") == "zero_pixels");
  ByteVector jpeg = some_jpeg();
  jpeg.resize(jpeg.size() - 2);
  CHECK(problem_of(jpeg, ".jpg") == "no_end");
  CHECK(problem_of(as_bytes("P6 hello"), ".ppm") == "truncated");
  CHECK(problem_of(as_bytes("P2 1 2 255 7 x "), ".pgm") == "corrupt_header");
  CHECK(problem_of(as_bytes("P6 999999999 999999999 255\n"), ".ppm") == "too_large");
  std::string bits = kRows;
  bits[28] = 99;
  CHECK(problem_of(as_bytes(bits), ".bmp") == "corrupt_header");
  CHECK(problem_of(as_bytes(kGif), ".gif") == "corrupt_header");
  CHECK(problem_of(as_bytes("\0\0\0\x1C"s + "ftypheic"), ".jpg") == "unsupported");
  CHECK(problem_of(as_bytes("\0\0\0\x1C"s + "ftypavif"), ".jpg") == "other_format");
}

TEST_CASE("a file cut at any length has a problem, which its ends show") {
  for (const auto& [file, extension] : files_with_ends()) {
    CAPTURE(extension);
    CHECK(ends_of(as_bytes(file), extension) == "none");
    CHECK(problem_of(as_bytes(file), extension) == "none");
    for (std::size_t size = 0; size < file.size(); ++size) {
      CAPTURE(size);
      REQUIRE(ends_of(as_bytes(file).first(size), extension) != "none");
      REQUIRE(problem_of(as_bytes(file).first(size), extension) != "none");
    }
  }
}

TEST_CASE(
    "of a JPEG without an end marker only decoding shows whether rows are missing; a progressive one is cut off") {
  const ByteVector jpeg = some_jpeg();
  const std::size_t scan = read_jpeg_header(jpeg).header.scan_offset;
  for (std::size_t size = 3; size < jpeg.size(); ++size) {
    CAPTURE(size);
    REQUIRE(ends_of(Bytes(jpeg).first(size), ".jpg") == (size < scan ? "truncated" : "no_end"));
  }
  std::string progressive(as_text(jpeg));
  progressive[progressive.find("\xFF\xC0") + 1] = '\xC2';
  CHECK(ends_of(as_bytes(progressive), ".jpg") == "none");
  CHECK(ends_of(as_bytes(progressive).first(jpeg.size() - 2), ".jpg") == "truncated");
}

TEST_CASE("the end of a thumbnail is not that of the photo, wherever the photo is cut off") {
  const std::string jpeg(as_text(some_jpeg()));
  const std::string thumbnail =
      "\xFF\xE1\0\x0B"
      "thumb\xFF\xD9\0\0"s;
  const std::string photo = jpeg.substr(0, 2) + thumbnail + jpeg.substr(2);
  CHECK(ends_of(as_bytes(photo), ".jpg") == "none");
  const std::size_t end = photo.find("\xFF\xD9") + 2;
  for (std::size_t size = end + 1; size < photo.size(); ++size) {
    CAPTURE(size);
    const std::string found = ends_of(as_bytes(photo).first(size), ".jpg");
    REQUIRE((found == "truncated" || found == "no_end"));
  }
}

TEST_CASE("bytes after the end are found, however many; padding that a format allows is not") {
  for (const auto& [file, extension] : files_with_ends()) {
    const bool is_exact = extension == ".jpg" || extension == ".png" || extension == ".webp";
    for (const std::size_t more : {1, 2, 3, 5000, 300'000}) {
      CAPTURE(extension);
      CAPTURE(more);
      const std::string longer = file + std::string(more, '\0');
      CHECK(ends_of(as_bytes(longer), extension) == (is_exact ? "after_end" : "none"));
      CHECK(problem_of(as_bytes(longer), extension) == (is_exact ? "after_end" : "none"));
    }
  }
  CHECK(ends_problem(as_bytes(kPng + "\n"), ".png")->text == "1 byte follows the end of the PNG");
  CHECK(ends_problem(as_bytes(kPng + "more"), ".png")->text == "4 bytes follow the end of the PNG");
  std::string odd = kLossy;  // a chunk of odd size with its padding, which some encoders do not count
  --odd[4];
  CHECK(ends_of(as_bytes(odd), ".webp") == "none");
  CHECK(ends_of(as_bytes(odd + "x"), ".webp") == "after_end");
  CHECK(ends_of(as_bytes(odd).first(odd.size() - 1), ".webp") == "none");
  CHECK(ends_of(as_bytes(odd).first(odd.size() - 2), ".webp") == "truncated");
}

TEST_CASE("a severe fault of the header is reported before bytes after the end") {
  std::string flat = kPng + "more";
  flat.replace(16, 4, 4, '\0');
  CHECK(problem_of(as_bytes(flat), ".png") == "zero_pixels");
}

TEST_CASE("any flipped byte of any kind is looked at without harm") {
  const ByteVector jpeg = some_jpeg();
  std::size_t problems = 0;
  for (const std::string& sound : {std::string(as_text(jpeg)), kPng, kGif, kBmp, kRows, kLossy, kLossless, kExtended,
                                   kPgm, kTiff, kBigEndianTiff}) {
    for (std::size_t at = 0; at < std::min<std::size_t>(sound.size(), 700); ++at) {
      std::string file = sound;
      file[at] = static_cast<char>(file[at] ^ 0xFF);
      problems += header_problem(as_bytes(file), ".jpg") ? 1 : 0;
      ends_problem(as_bytes(file), ".jpg");
    }
  }
  CHECK(problems > 100);
}
