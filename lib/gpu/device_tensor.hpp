#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/device.hpp"
#include "gpu/tensor_math.hpp"
#include "image/augment.hpp"
#include "image/pixels.hpp"
#include "image/tensor_type.hpp"

namespace shardkit::gpu {

/// Target of the kernels, with ImageNet's mean and deviation.
template <class Value>
TensorTarget<Value> target_of(const DeviceTensor& tensor) {
  TensorTarget<Value> target;
  target.values = reinterpret_cast<Value*>(tensor.values.data);
  target.side = tensor.side;
  for (std::size_t c = 0; c < kTensorChannels; ++c) {
    target.mean[c] = image::kImageNetMean[c];
    target.deviation[c] = image::kImageNetDeviation[c];
  }
  return target;
}

/// Calls `action` with the target in the type of the tensor's values, and returns what it does.
auto with_target(const DeviceTensor& tensor, const auto& action) {
  switch (tensor.type) {
    case image::TensorType::u8:
      return action(target_of<std::uint8_t>(tensor));
    case image::TensorType::f16:
      return action(target_of<std::uint16_t>(tensor));
    case image::TensorType::f32:
      break;
  }
  return action(target_of<float>(tensor));
}

/// `box` of the image at `pixels`, RGB in a GPU's memory, as sample `sample` of tensors whose side is `side`.
inline CropJob crop_job(const std::byte* pixels, std::uint32_t image_width, const image::CropBox& box, bool flip,
                        std::uint64_t sample, std::uint32_t side) {
  return {reinterpret_cast<const std::uint8_t*>(pixels),
          image_width,
          box.x,
          box.y,
          box.width,
          box.height,
          flip ? 1U : 0U,
          sample,
          static_cast<double>(box.width) / side,
          static_cast<double>(box.height) / side};
}

}  // namespace shardkit::gpu
