#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "image/pixels.hpp"

namespace shardkit::image {

/// Bilinear resize of RGB pixels with pixel centers at half integers, two taps a direction, without antialiasing: what
/// OpenCV's INTER_LINEAR and torchvision's antialias=False compute, to within a level. Keeps its tables and rows
/// between calls, so that a reused object allocates nothing. One thread at a time.
class BilinearResizer {
 public:
  /// Bytes that must be readable behind the last pixel of a source: two pixels are loaded as eight bytes.
  static constexpr std::size_t kReadBeyond = 8;

  /// Resizes `box` of `source`, RGB pixels whose box is not empty and that kReadBeyond bytes follow, to `width` x
  /// `height`; writes width * height * 3 bytes to `target`.
  void resize(const PixelView& source, const CropBox& box, std::uint32_t width, std::uint32_t height,
              std::span<std::uint8_t> target);

 private:
  /// Where a target column takes its two source pixels, and what each counts, in 1/256: three times the first one's
  /// weight, three times the second one's, two zeros.
  struct Column {
    alignas(16) std::array<std::uint16_t, 8> weights;
    std::size_t offset;
  };
  /// A source row resized horizontally: three 8.8 fixed-point levels a pixel. `y` tells which row it holds.
  struct Line {
    std::vector<std::uint16_t> levels;
    std::uint32_t y = 0;
  };

  void prepare(std::uint32_t source_width, std::uint32_t width);
  /// The line of the box's row `y`, made in the place of the line that is not `kept` unless it is there already.
  const Line& line_of(const PixelView& source, const CropBox& box, std::uint32_t y, const Line& kept);

  std::vector<Column> columns_;
  std::array<Line, 2> lines_;
};

/// How large the picture is that pixels show: width / divisor x height / divisor of them. A decode at 1 / divisor gives
/// ceil(width / divisor) columns, of which the last may stand for less than a whole one.
struct PictureExtent {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  unsigned divisor = 1;
};

/// Makes pictures smaller without aliasing: a triangle filter whose radius is one target pixel, so that every source
/// pixel counts; at the edges the weights within the picture are scaled to sum to one. What Pillow's resize with
/// BILINEAR and torchvision's antialias=True compute, to within a level. Rows are mixed first, then columns; weights
/// are exact fractions rounded to 1/2^15 so that they sum to one, in between a level has 8 more bits, and the result is
/// rounded half up: integers throughout, so that every machine gives the same. Keeps its tables and rows between calls,
/// so that a reused object allocates nothing. One thread at a time.
class AntialiasResizer {
 public:
  /// Resizes all of `source` (1 or 3 channels), which shows a picture of `extent`, to `width` x `height`; all sides are
  /// 1 to 65535. Writes width * height * channels bytes to `target`.
  void resize(const PixelView& source, const PictureExtent& extent, std::uint32_t width, std::uint32_t height,
              std::span<std::uint8_t> target);

 private:
  /// For each target pixel along a side: which source pixel its weights start at, and `taps` weights.
  struct Axis {
    std::size_t taps = 0;
    std::vector<std::uint32_t> first;
    std::vector<std::uint16_t> weights;
    std::vector<std::int64_t> exact;  ///< of one target pixel, before they are rounded
    std::span<const std::uint16_t> weights_of(std::size_t target) const {
      return std::span(weights).subspan(target * taps, taps);
    }
  };
  /// `size` / `divisor` of `pixels` to `target` pixels.
  static void prepare(Axis& axis, std::uint32_t pixels, std::uint32_t size, unsigned divisor, std::uint32_t target);
  /// Leaves a target row at the source's width in line_.
  void mix_rows(const PixelView& source, std::uint32_t y);
  template <unsigned channels>
  void mix_columns(std::uint8_t* target) const;

  Axis columns_;
  Axis rows_;
  std::vector<std::uint32_t> sums_;
  std::vector<std::uint16_t> line_;  ///< levels in 1/256
};

}  // namespace shardkit::image
