#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "image/pixels.hpp"

namespace shardkit {

/// Bilinear resize of RGB pixels with pixel centres at half integers, two taps a direction, without antialiasing: what
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

}  // namespace shardkit
