#include <string>

#include <doctest/doctest.h>

#include "image/fixtures.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_encoder.hpp"

using namespace shardkit;
using namespace shardkit::image;
using namespace shardkit::test;
using namespace std::string_literals;

namespace {

const std::string kPng =
    "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\x01\x02\0\0\0\x07\x08\x02\0\0\0crc!\0\0\0\0IEND\xAE\x42\x60\x82"s;
const std::string kGif = "GIF89a\x05\x01\x03\0\0\0\0;"s;
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

std::string problem_of(Bytes file, std::string_view extension) {
  const auto problem = header_problem(file, extension);
  return problem ? std::string(enum_name(problem->flaw)) : "none";
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
}

TEST_CASE("a file cut at any length has a problem") {
  const ByteVector jpeg = some_jpeg();
  for (std::size_t size = 0; size < jpeg.size(); ++size) {
    CAPTURE(size);
    const std::string problem = problem_of(Bytes(jpeg).first(size), ".jpg");
    const std::string cut = size < read_jpeg_header(jpeg).header.scan_offset ? "truncated" : "no_end";
    REQUIRE(problem == (size == 0 ? "empty" : size < 3 ? "not_an_image" : cut));
  }
  for (const auto& [file, extension] : {std::pair{kPng.substr(0, kPng.size() - 4), ".png"},
                                        {kLossy, ".webp"},
                                        {kLossless, ".webp"},
                                        {kExtended, ".webp"}}) {
    for (std::size_t size = 0; size < file.size(); ++size) {
      CAPTURE(size);
      REQUIRE(problem_of(as_bytes(file).first(size), extension) != "none");
    }
  }
}

TEST_CASE("any flipped byte of any kind is looked at without harm") {
  const ByteVector jpeg = some_jpeg();
  std::size_t problems = 0;
  for (const std::string& sound : {std::string(as_text(jpeg)), kPng, kGif, kBmp, kLossy, kLossless, kExtended}) {
    for (std::size_t at = 0; at < std::min<std::size_t>(sound.size(), 700); ++at) {
      std::string file = sound;
      file[at] = static_cast<char>(file[at] ^ 0xFF);
      problems += header_problem(as_bytes(file), ".jpg") ? 1 : 0;
    }
  }
  CHECK(problems > 100);
}
