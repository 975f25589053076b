#include "image/resize.hpp"

#include <bit>
#include <cstring>
#include <limits>

#include "image/bilinear.hpp"

namespace shardkit {
namespace {

constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kChannels = 3;
/// Lines are written four levels at a time, so one level beyond the last.
constexpr std::size_t kWriteBeyond = 1;

// Vector types, which GCC and Clang turn into SSE2 or NEON instructions: a loop over three channels stays scalar and
// takes three times as long.
using Bytes [[gnu::vector_size(16)]] = std::uint8_t;
using Levels [[gnu::vector_size(16)]] = std::uint16_t;
using Words [[gnu::vector_size(16)]] = std::uint64_t;

/// Eight bytes as eight levels.
Levels load_levels(const std::uint8_t* bytes) {
  static_assert(std::endian::native == std::endian::little, "a byte is widened by putting a zero byte behind it");
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  const auto low = std::bit_cast<Bytes>(Words{word, 0});
  return std::bit_cast<Levels>(
      __builtin_shufflevector(low, Bytes{}, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
}

/// One target row out of two lines, with `weight` / 256 of the second.
void blend(const std::uint16_t* first, const std::uint16_t* second, std::uint32_t weight,
           std::span<std::uint8_t> target) {
  std::uint8_t* out = target.data();
  for (std::size_t i = 0; i < target.size(); ++i) out[i] = bilinear_blend(first[i], second[i], weight);
}

}  // namespace

void BilinearResizer::prepare(std::uint32_t source_width, std::uint32_t width) {
  columns_.resize(width);
  const double scale = static_cast<double>(source_width) / width;
  for (std::uint32_t x = 0; x < width; ++x) {
    const BilinearTap tap = bilinear_tap(x, scale, source_width);
    const auto next = static_cast<std::uint16_t>(tap.weight);
    const auto first = static_cast<std::uint16_t>(kBilinearOne - tap.weight);
    columns_[x] = Column{{first, first, first, next, next, next, 0, 0}, tap.first * kChannels};
  }
  for (Line& line : lines_) {
    line.levels.resize(width * kChannels + kWriteBeyond);
    line.y = kNoRow;
  }
}

const BilinearResizer::Line& BilinearResizer::line_of(const PixelView& source, const CropBox& box, std::uint32_t y,
                                                      const Line& kept) {
  for (const Line& line : lines_) {
    if (line.y == y) return line;
  }
  Line& line = &kept == &lines_[0] ? lines_[1] : lines_[0];
  line.y = y;
  const std::uint8_t* pixels = source.row(box.y + y) + box.x * kChannels;
  std::uint16_t* out = line.levels.data();
#pragma GCC unroll 4  // a tenth faster
  for (const Column& column : columns_) {
    const Levels parts = load_levels(pixels + column.offset) * std::bit_cast<Levels>(column.weights);
    const Levels mixed = parts + __builtin_shufflevector(parts, Levels{}, 3, 4, 5, 6, 7, 8, 9, 10);
    std::memcpy(out, &mixed, 4 * sizeof(*out));
    out += kChannels;
  }
  return line;
}

void BilinearResizer::resize(const PixelView& source, const CropBox& box, std::uint32_t width, std::uint32_t height,
                             std::span<std::uint8_t> target) {
  prepare(box.width, width);
  const double scale = static_cast<double>(box.height) / height;
  const std::size_t stride = width * kChannels;
  for (std::uint32_t y = 0; y < height; ++y) {
    const BilinearTap tap = bilinear_tap(y, scale, box.height);
    const Line& first = line_of(source, box, tap.first, lines_[lines_[1].y == tap.next ? 1 : 0]);
    const Line& second = line_of(source, box, tap.next, first);
    blend(first.levels.data(), second.levels.data(), tap.weight, target.subspan(y * stride, stride));
  }
}

}  // namespace shardkit
