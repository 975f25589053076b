#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "image/tensor_type.hpp"

/// How a GPU makes a batch's tensor, pixel by pixel. Kernels (gpu/kernels.cu) and the fake device of tests use these
/// same functions. They compute the same as image/augment.hpp and image/resize.hpp, bit for bit: divisions are
/// divisions, and the kernels' file is compiled so that no multiplication is fused with an addition.
namespace shardkit::gpu {

inline constexpr unsigned kTensorChannels = 3;

/// Target of values, a plane for each channel of a sample, and their conversion: std::uint8_t keeps them, float
/// normalizes, std::uint16_t represents a half. Passed to kernels by value.
template <class Value>
struct TensorTarget {
  Value* values = nullptr;
  std::uint32_t side = 0;
  float mean[kTensorChannels] = {};
  float deviation[kTensorChannels] = {};

  constexpr std::size_t pixels() const { return std::size_t{side} * side; }
};

/// A part of an image that becomes a sample. In the GPU's memory.
struct CropJob {
  const std::uint8_t* image = nullptr;  ///< RGB, rows without gaps
  std::uint32_t image_width = 0;
  std::uint32_t x = 0;  ///< the part, which is inside the image and not empty
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t flip = 0;  ///< not 0: mirrored
  std::uint64_t sample = 0;
  double scale_x = 0;  ///< width divided by the sample's side; computed on the host, because divisions of doubles are
                       ///< expensive on the GPU
  double scale_y = 0;
};

template <class Value>
constexpr Value tensor_value(std::uint8_t level, float mean, float deviation) {
  if constexpr (std::is_same_v<Value, std::uint8_t>) {
    return level;
  } else {
    const float normalized = (static_cast<float>(level) / 255.0F - mean) / deviation;
    if constexpr (std::is_same_v<Value, float>) {
      return normalized;
    } else {
      return image::to_half(normalized);
    }
  }
}

/// A level of channel `channel` at pixel `pixel` of a sample.
template <class Value>
constexpr void put_level(const TensorTarget<Value>& target, std::size_t sample, std::size_t pixel, unsigned channel,
                         std::uint8_t level) {
  const std::size_t pixels = target.pixels();
  target.values[(sample * kTensorChannels + channel) * pixels + pixel] =
      tensor_value<Value>(level, target.mean[channel], target.deviation[channel]);
}

/// Pixel `index` of a batch of crops that have the tensor's side. `flips` has one byte per sample, not 0 if it is
/// mirrored.
template <class Value>
constexpr void normalize_pixel(const TensorTarget<Value>& target, const std::uint8_t* crops, const std::uint8_t* flips,
                               std::size_t index) {
  const std::size_t sample = index / target.pixels();
  const std::size_t pixel = index % target.pixels();
  const std::size_t x = pixel % target.side;
  const std::size_t to = flips[sample] != 0 ? pixel - x + (target.side - 1 - x) : pixel;
  for (unsigned c = 0; c < kTensorChannels; ++c) {
    put_level(target, sample, to, c, crops[index * kTensorChannels + c]);
  }
}

/// Pixel `index` of what `jobs` make, each a whole sample: resized, flipped, normalized.
template <class Value>
constexpr void crop_pixel(const TensorTarget<Value>& target, const CropJob* jobs, std::size_t index) {
  const CropJob& job = jobs[index / target.pixels()];
  const std::size_t pixel = index % target.pixels();
  const auto x = static_cast<std::uint32_t>(pixel % target.side);
  const auto y = static_cast<std::uint32_t>(pixel / target.side);
  const image::BilinearTap column = image::bilinear_tap(x, job.scale_x, job.width);
  const image::BilinearTap row = image::bilinear_tap(y, job.scale_y, job.height);
  const std::size_t stride = std::size_t{job.image_width} * kTensorChannels;
  const std::uint8_t* upper = job.image + (job.y + row.first) * stride;
  const std::uint8_t* lower = job.image + (job.y + row.next) * stride;
  const std::size_t left = std::size_t{job.x + column.first} * kTensorChannels;
  const std::size_t right = std::size_t{job.x + column.next} * kTensorChannels;
  const std::size_t to = job.flip != 0 ? pixel - x + (target.side - 1 - x) : pixel;
  for (unsigned c = 0; c < kTensorChannels; ++c) {
    const std::uint16_t first = image::bilinear_mix(upper[left + c], upper[right + c], column.weight);
    const std::uint16_t second = image::bilinear_mix(lower[left + c], lower[right + c], column.weight);
    put_level(target, job.sample, to, c, image::bilinear_blend(first, second, row.weight));
  }
}

}  // namespace shardkit::gpu
