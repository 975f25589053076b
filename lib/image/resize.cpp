#include "image/resize.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>

#include "image/tensor_type.hpp"

namespace shardkit::image {
namespace {

constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();
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

constexpr std::int64_t kOne = 1 << 15;  // the sum of a pixel's weights

/// sums[i] += weight * row[i]. The compiler vectorises this because it is a separate function on plain pointers.
void add_row(std::uint32_t* __restrict sums, const std::uint8_t* __restrict row, std::uint16_t weight,
             std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint16_t level = row[i];
    sums[i] += std::uint32_t{level} * weight;
  }
}

/// Rounds weights, whole numbers that sum to anything, to 1/kOne that sum to exactly 1: their running sum is rounded,
/// so that errors never add up, however many there are.
void normalize(std::span<const std::int64_t> exact, std::span<std::uint16_t> weights) {
  const std::int64_t sum = std::accumulate(exact.begin(), exact.end(), std::int64_t{0});
  std::int64_t running = 0;
  std::int64_t given = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    running += exact[i];
    const std::int64_t due = (2 * kOne * running + sum) / (2 * sum);
    weights[i] = static_cast<std::uint16_t>(due - given);
    given = due;
  }
}

}  // namespace

void BilinearResizer::prepare(std::uint32_t source_width, std::uint32_t width) {
  columns_.resize(width);
  const double scale = static_cast<double>(source_width) / width;
  for (std::uint32_t x = 0; x < width; ++x) {
    const BilinearTap tap = bilinear_tap(x, scale, source_width);
    const auto next = static_cast<std::uint16_t>(tap.weight);
    const auto first = static_cast<std::uint16_t>(kBilinearOne - tap.weight);
    columns_[x] = Column{{first, first, first, next, next, next, 0, 0}, tap.first * kRgbChannels};
  }
  for (Line& line : lines_) {
    line.levels.resize(width * kRgbChannels + kWriteBeyond);
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
  const std::uint8_t* pixels = source.row(box.y + y) + box.x * kRgbChannels;
  std::uint16_t* out = line.levels.data();
#pragma GCC unroll 4  // a tenth faster
  for (const Column& column : columns_) {
    const Levels parts = load_levels(pixels + column.offset) * std::bit_cast<Levels>(column.weights);
    const Levels mixed = parts + __builtin_shufflevector(parts, Levels{}, 3, 4, 5, 6, 7, 8, 9, 10);
    std::memcpy(out, &mixed, 4 * sizeof(*out));
    out += kRgbChannels;
  }
  return line;
}

void BilinearResizer::resize(const PixelView& source, const CropBox& box, std::uint32_t width, std::uint32_t height,
                             std::span<std::uint8_t> target) {
  prepare(box.width, width);
  const double scale = static_cast<double>(box.height) / height;
  const std::size_t stride = width * kRgbChannels;
  for (std::uint32_t y = 0; y < height; ++y) {
    const BilinearTap tap = bilinear_tap(y, scale, box.height);
    const Line& first = line_of(source, box, tap.first, lines_[lines_[1].y == tap.next ? 1 : 0]);
    const Line& second = line_of(source, box, tap.next, first);
    blend(first.levels.data(), second.levels.data(), tap.weight, target.subspan(y * stride, stride));
  }
}

void AntialiasResizer::prepare(Axis& axis, std::uint32_t pixels, std::uint32_t size, unsigned divisor,
                               std::uint32_t target) {
  // Places in units that make all of them whole: a source pixel is 2 * step wide, a target pixel 2 * size.
  const std::int64_t step = std::int64_t{divisor} * target;
  const std::int64_t radius = std::max<std::int64_t>(2 * step, 2 * std::int64_t{size});
  axis.taps = static_cast<std::size_t>(std::min<std::int64_t>(pixels, (radius + step - 1) / step));
  axis.first.resize(target);
  axis.weights.resize(target * axis.taps);
  axis.exact.resize(axis.taps);
  for (std::uint32_t i = 0; i < target; ++i) {
    const std::int64_t center = (2 * std::int64_t{i} + 1) * size;
    const std::int64_t reached = std::max<std::int64_t>(0, center - radius + step) / (2 * step);
    const std::int64_t first = std::min<std::int64_t>(reached, pixels - static_cast<std::int64_t>(axis.taps));
    for (std::size_t tap = 0; tap < axis.taps; ++tap) {
      const std::int64_t position = (2 * (first + static_cast<std::int64_t>(tap)) + 1) * step;
      axis.exact[tap] = std::max<std::int64_t>(0, radius - std::abs(position - center));
    }
    axis.first[i] = static_cast<std::uint32_t>(first);
    normalize(axis.exact, std::span(axis.weights).subspan(i * axis.taps, axis.taps));
  }
}

void AntialiasResizer::mix_rows(const PixelView& source, std::uint32_t y) {
  constexpr unsigned kShift = 7;  // from 1/2^15 to 1/2^8
  const std::size_t size = source.stride();
  std::fill_n(sums_.begin(), size, 1U << (kShift - 1));
  const std::span<const std::uint16_t> weights = rows_.weights_of(y);
  for (std::size_t tap = 0; tap < weights.size(); ++tap) {
    if (weights[tap] != 0) add_row(sums_.data(), source.row(rows_.first[y] + tap), weights[tap], size);
  }
  for (std::size_t i = 0; i < size; ++i) line_[i] = static_cast<std::uint16_t>(sums_[i] >> kShift);
}

template <unsigned channels>
void AntialiasResizer::mix_columns(std::uint8_t* target) const {
  constexpr unsigned kShift = 23;  // from 1/2^15 of 1/2^8
  const std::uint16_t* weight = columns_.weights.data();
  for (const std::uint32_t first : columns_.first) {
    std::array<std::uint32_t, channels> sums;
    sums.fill(1U << (kShift - 1));
    const std::uint16_t* level = line_.data() + std::size_t{first} * channels;
    for (std::size_t tap = 0; tap < columns_.taps; ++tap, ++weight, level += channels) {
      for (unsigned c = 0; c < channels; ++c) sums[c] += std::uint32_t{level[c]} * *weight;
    }
    for (unsigned c = 0; c < channels; ++c) target[c] = static_cast<std::uint8_t>(sums[c] >> kShift);
    target += channels;
  }
}

void AntialiasResizer::resize(const PixelView& source, const PictureExtent& extent, std::uint32_t width,
                              std::uint32_t height, std::span<std::uint8_t> target) {
  prepare(columns_, source.width, extent.width, extent.divisor, width);
  prepare(rows_, source.height, extent.height, extent.divisor, height);
  if (line_.size() < source.stride()) {
    line_.resize(source.stride());
    sums_.resize(source.stride());
  }
  const std::size_t stride = std::size_t{width} * source.channels;
  for (std::uint32_t y = 0; y < height; ++y) {
    mix_rows(source, y);
    std::uint8_t* row = target.data() + y * stride;
    source.channels == 1 ? mix_columns<1>(row) : mix_columns<3>(row);
  }
}

}  // namespace shardkit::image
