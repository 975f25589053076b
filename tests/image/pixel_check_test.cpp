#include "image/pixel_check.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <png.h>
#include <webp/encode.h>

#include "core/bytes.hpp"
#include "core/prng.hpp"

using namespace shardkit;
using namespace shardkit::image;

namespace {

constexpr std::uint32_t kSide = 40;

std::vector<std::uint8_t> noise(std::size_t size) {
  Prng prng(7);
  std::vector<std::uint8_t> bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(prng.next());
  return bytes;
}

struct PngForm {
  int depth = 8;
  int color = PNG_COLOR_TYPE_RGB;
  int interlace = PNG_INTERLACE_NONE;
};

std::string make_png(const PngForm& form, std::uint32_t width = kSide, std::uint32_t height = kSide,
                     const std::string& text = {}) {
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto append = [](png_structp writer, png_bytep data, std::size_t size) {
    static_cast<std::string*>(png_get_io_ptr(writer))->append(reinterpret_cast<const char*>(data), size);
  };
  png_set_write_fn(png, &out, append, nullptr);
  png_set_IHDR(png, info, width, height, form.depth, form.color, form.interlace, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> colors(1U << std::min(form.depth, 8));
  if (form.color == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, colors.data(), static_cast<int>(colors.size()));
  std::string key = "Comment";
  std::string value = text;
  png_text chunk{};
  chunk.compression = PNG_TEXT_COMPRESSION_zTXt;
  chunk.key = key.data();
  chunk.text = value.data();
  if (!text.empty()) png_set_text(png, info, &chunk, 1);
  png_write_info(png, info);
  const int passes = png_set_interlace_handling(png);
  std::vector<std::uint8_t> row = noise(png_get_rowbytes(png, info));
  for (int pass = 0; pass < passes; ++pass) {
    for (std::uint32_t y = 0; y < height; ++y) png_write_row(png, row.data());
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

std::string taken(std::uint8_t* bytes, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(bytes), size);
  WebPFree(bytes);
  return text;
}

std::string make_webp(bool lossless) {
  const std::vector<std::uint8_t> pixels = noise(kSide * kSide * 4);
  std::uint8_t* out = nullptr;
  const std::size_t size = lossless ? WebPEncodeLosslessRGBA(pixels.data(), kSide, kSide, kSide * 4, &out)
                                    : WebPEncodeRGBA(pixels.data(), kSide, kSide, kSide * 4, 80, &out);
  return taken(out, size);
}

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string riff_chunk(const std::string& name, const std::string& content) {
  return name + little(static_cast<std::uint32_t>(content.size()), 4) + content + std::string(content.size() % 2, '\0');
}

/// Two frames, each the picture of a lossless WebP.
std::string make_animation() {
  const std::string picture = make_webp(true).substr(12);
  const std::string sides = little(kSide - 1, 3) + little(kSide - 1, 3);
  const std::string frame = riff_chunk("ANMF", little(0, 6) + sides + little(100, 3) + little(0, 1) + picture);
  const std::string body =
      "WEBP" + riff_chunk("VP8X", little(0x12, 4) + sides) + riff_chunk("ANIM", little(0, 6)) + frame + frame;
  return riff_chunk("RIFF", body);
}

DecodeFailure check(const std::string& image) { return check_pixels(as_bytes(image)).failure; }

std::vector<std::string> sound_images() {
  std::vector<std::string> images{make_webp(true), make_webp(false), make_animation()};
  for (const int interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
    for (const PngForm& form :
         {PngForm{1, PNG_COLOR_TYPE_GRAY}, PngForm{4, PNG_COLOR_TYPE_PALETTE}, PngForm{8, PNG_COLOR_TYPE_RGB},
          PngForm{8, PNG_COLOR_TYPE_GRAY_ALPHA}, PngForm{16, PNG_COLOR_TYPE_RGB_ALPHA}}) {
      images.push_back(make_png({form.depth, form.color, interlace}));
    }
  }
  return images;
}

}  // namespace

TEST_CASE("PNG and WebP of every form decode") {
  for (const std::string& image : sound_images()) CHECK(check(image) == DecodeFailure::none);
  CHECK(check(make_png({}) + "what follows the last chunk") == DecodeFailure::none);
  CHECK(check("GIF89a and more") == DecodeFailure::none);
  CHECK(has_decoder(ImageKind::webp));
  CHECK_FALSE(has_decoder(ImageKind::tiff));
}

TEST_CASE("an image that is cut anywhere does not decode") {
  for (const std::string& image : sound_images()) {
    const std::size_t end = image.size() - (image.starts_with("\x89PNG") ? 24 : 1);  // behind it all rows are there
    for (std::size_t length = 12; length < end; length += 1 + image.size() / 97) {
      CAPTURE(length);
      const bool has_first_frame = image.find("ANMF") != std::string::npos;
      const DecodeFailure failure = check(image.substr(0, length));
      CHECK(failure != DecodeFailure::none);
      if (!has_first_frame) CHECK(failure != DecodeFailure::too_large);
    }
  }
}

TEST_CASE("damage anywhere is found or harmless, and never a crash") {
  Prng prng(3);
  for (const std::string& image : sound_images()) {
    for (int i = 0; i < 300; ++i) {
      std::string damaged = image;
      for (std::uint64_t flips = 1 + prng.below(8); flips > 0; --flips) {
        damaged[prng.below(damaged.size())] = static_cast<char>(prng.next());
      }
      check(damaged);
    }
  }
}

TEST_CASE("a PNG's pixels are compared with their checksum") {
  std::string image = make_png({});
  const std::size_t data = image.find("IDAT") + 20;
  image[data] = static_cast<char>(image[data] ^ 1);
  CHECK(check(image) != DecodeFailure::none);
}

TEST_CASE("a PNG of a side beyond what libpng reads is too large, not damaged; of the longest side it is read") {
  const auto of_sides = [](std::uint32_t width, std::uint32_t height) {
    std::string image = make_png({});
    for (int i = 0; i < 4; ++i) {
      image[16 + i] = static_cast<char>(width >> (24 - 8 * i));
      image[20 + i] = static_cast<char>(height >> (24 - 8 * i));
    }
    return check(image);
  };
  for (const std::uint32_t side : {1'000'001U, 2'000'000U}) {
    CHECK(of_sides(side, 1) == DecodeFailure::too_large);
    CHECK(of_sides(1, side) == DecodeFailure::too_large);
  }
  CHECK(of_sides(1'000'000, 1) == DecodeFailure::corrupt);  // its header's checksum is that of other sides
  CHECK(of_sides(1, 1'000'000) == DecodeFailure::corrupt);
}

TEST_CASE("bombs are refused before they take memory") {
  std::string wide = make_png({});
  wide.replace(16, 8, std::string("\0\xff\0\0\0\0\xff\0", 8));
  CHECK(check(wide) == DecodeFailure::too_large);
  std::string area = make_png({});
  area.replace(16, 8, std::string("\0\1\0\0\0\1\0\0", 8));
  const PixelVerdict refused = check_pixels(as_bytes(area));
  CHECK(refused.failure == DecodeFailure::too_large);
  CHECK(refused.message == "65536 x 65536 pixels");
  std::string webp = make_webp(true);
  webp.replace(21, 4, std::string("\xff\xff\xff\x0f", 4));  // 16384 x 16384
  CHECK(check(webp) == DecodeFailure::too_large);
  CHECK(check(make_png({}, 4, 4, std::string(1U << 19U, 'a'))) == DecodeFailure::none);
  CHECK(check(make_png({}, 4, 4, std::string(64U << 20U, 'a'))) == DecodeFailure::corrupt);  // a text of 64 MiB
}
