#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "gpu/tensor_math.hpp"

/// The kernels of shardkit. Each call queues one and returns the result of the launch. Value is std::uint8_t,
/// std::uint16_t (a half) or float.
namespace shardkit::gpu {

/// normalize_pixel() for every pixel of `samples`.
template <class Value>
cudaError_t launch_normalize(const TensorTarget<Value>& target, const std::uint8_t* crops, const std::uint8_t* flips,
                             std::size_t samples, cudaStream_t stream);

/// crop_pixel() for every pixel of `count` jobs.
template <class Value>
cudaError_t launch_crops(const TensorTarget<Value>& target, const CropJob* jobs, std::size_t count,
                         cudaStream_t stream);

/// The two words, in pinned host memory, that a gate consists of; the addresses are the GPU's.
struct GateWords {
  volatile unsigned open;    ///< not 0: open
  volatile unsigned missed;  ///< not 0: a stream timed out
};

/// Keeps `stream` busy until the gate opens, or for `most_nanoseconds`.
cudaError_t launch_hold(GateWords* gate, std::uint64_t most_nanoseconds, cudaStream_t stream);

/// Computes on `multiprocessors` blocks until the gate opens, for `nanoseconds` at most.
cudaError_t launch_spin(const GateWords* gate, unsigned multiprocessors, std::uint64_t nanoseconds,
                        cudaStream_t stream);

/// The pattern of gpu/pattern.hpp.
cudaError_t launch_fill_pattern(std::byte* memory, std::size_t bytes, std::uint64_t seed, cudaStream_t stream);
/// Adds to `count`, in memory of the GPU, how many bytes are not the pattern's.
cudaError_t launch_count_mismatches(const std::byte* memory, std::size_t bytes, std::uint64_t seed,
                                    unsigned long long* count, cudaStream_t stream);

}  // namespace shardkit::gpu
