#pragma once

#include <cuda_runtime_api.h>

#include "gpu/tensor_math.hpp"

/// Kernels that make a batch's tensor; Value is std::uint8_t, std::uint16_t (a half) or float. Each call enqueues one
/// and returns what the launch says.
namespace shardkit::gpu {

/// normalise_pixel() for every pixel of `samples`.
template <class Value>
cudaError_t launch_normalise(const TensorTarget<Value>& target, const std::uint8_t* crops, const std::uint8_t* flips,
                             std::size_t samples, cudaStream_t stream);

/// crop_pixel() for every pixel of `count` jobs.
template <class Value>
cudaError_t launch_crops(const TensorTarget<Value>& target, const CropJob* jobs, std::size_t count,
                         cudaStream_t stream);

}  // namespace shardkit::gpu
