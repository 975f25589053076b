#include "gpu/kernels.hpp"

namespace shardkit::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMostBlocks = 1U << 20U;  // threads go over what is left in strides

unsigned blocks_for(std::size_t pixels) {
  const std::size_t blocks = (pixels + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

template <class Value>
__global__ void normalise(TensorTarget<Value> target, const std::uint8_t* crops, const std::uint8_t* flips,
                          std::size_t pixels) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < pixels; i += stride) {
    normalise_pixel(target, crops, flips, i);
  }
}

template <class Value>
__global__ void crop(TensorTarget<Value> target, const CropJob* jobs, std::size_t pixels) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < pixels; i += stride) {
    crop_pixel(target, jobs, i);
  }
}

}  // namespace

template <class Value>
cudaError_t launch_normalise(const TensorTarget<Value>& target, const std::uint8_t* crops, const std::uint8_t* flips,
                             std::size_t samples, cudaStream_t stream) {
  const std::size_t pixels = samples * target.pixels();
  normalise<<<blocks_for(pixels), kThreads, 0, stream>>>(target, crops, flips, pixels);
  return cudaGetLastError();
}

template <class Value>
cudaError_t launch_crops(const TensorTarget<Value>& target, const CropJob* jobs, std::size_t count,
                         cudaStream_t stream) {
  const std::size_t pixels = count * target.pixels();
  crop<<<blocks_for(pixels), kThreads, 0, stream>>>(target, jobs, pixels);
  return cudaGetLastError();
}

template cudaError_t launch_normalise(const TensorTarget<std::uint8_t>&, const std::uint8_t*, const std::uint8_t*,
                                      std::size_t, cudaStream_t);
template cudaError_t launch_normalise(const TensorTarget<std::uint16_t>&, const std::uint8_t*, const std::uint8_t*,
                                      std::size_t, cudaStream_t);
template cudaError_t launch_normalise(const TensorTarget<float>&, const std::uint8_t*, const std::uint8_t*, std::size_t,
                                      cudaStream_t);
template cudaError_t launch_crops(const TensorTarget<std::uint8_t>&, const CropJob*, std::size_t, cudaStream_t);
template cudaError_t launch_crops(const TensorTarget<std::uint16_t>&, const CropJob*, std::size_t, cudaStream_t);
template cudaError_t launch_crops(const TensorTarget<float>&, const CropJob*, std::size_t, cudaStream_t);

}  // namespace shardkit::gpu
