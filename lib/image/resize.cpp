#include "image/resize.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace shardkit {
namespace {

constexpr std::uint32_t kOne = 256;
constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kChannels = 3;
/// Lines are written four levels at a time, so one level beyond the last.
constexpr std::size_t kWriteBeyond = 1;

/// Two neighbours in a direction: `first`, `next` (the same at the far edge) and what `next` counts, in 1/256.
struct Tap {
  std::uint32_t first;
  std::uint32_t next;
  std::uint32_t weight;
};

Tap tap_of(std::uint32_t target, double scale, std::uint32_t source_size) {
  const double centre = std::clamp((target + 0.5) * scale - 0.5, 0.0, static_cast<double>(source_size - 1));
  const auto first = static_cast<std::uint32_t>(centre);
  return {first, std::min(first + 1, source_size - 1), static_cast<std::uint32_t>((centre - first) * kOne)};
}

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
  constexpr std::uint32_t kMax = std::numeric_limits<std::uint16_t>::max();
  constexpr unsigned kHalf = 130;  // half a level, and what the divisions by 2^16 cut off
  const auto part = static_cast<std::uint16_t>(weight * kOne);
  const auto rest = static_cast<std::uint16_t>(kMax - part);
  std::uint8_t* out = target.data();
  for (std::size_t i = 0; i < target.size(); ++i) {
    const auto a = static_cast<std::uint16_t>((std::uint32_t{first[i]} * rest) >> 16U);
    const auto b = static_cast<std::uint16_t>((std::uint32_t{second[i]} * part) >> 16U);
    out[i] = static_cast<std::uint8_t>(static_cast<std::uint16_t>(a + b + kHalf) >> 8U);
  }
}

}  // namespace

void BilinearResizer::prepare(std::uint32_t source_width, std::uint32_t width) {
  columns_.resize(width);
  const double scale = static_cast<double>(source_width) / width;
  for (std::uint32_t x = 0; x < width; ++x) {
    const Tap tap = tap_of(x, scale, source_width);
    const auto next = static_cast<std::uint16_t>(tap.weight);
    const auto first = static_cast<std::uint16_t>(kOne - tap.weight);
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
    const Tap tap = tap_of(y, scale, box.height);
    const Line& first = line_of(source, box, tap.first, lines_[lines_[1].y == tap.next ? 1 : 0]);
    const Line& second = line_of(source, box, tap.next, first);
    blend(first.levels.data(), second.levels.data(), tap.weight, target.subspan(y * stride, stride));
  }
}

}  // namespace shardkit
