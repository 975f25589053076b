#include "gpu/kernels.hpp"
#include "gpu/pattern.hpp"

namespace shardkit::gpu {
// It has a name because nvcc names an unnamed one by the path of this file, and the same source is to give the same program.
inline namespace on_gpu {

constexpr unsigned kThreads = 256;
constexpr unsigned kMostBlocks = 4096;            // threads go over the memory in strides
constexpr unsigned kMostPixelBlocks = 1U << 20U;  // the same, over pixels
constexpr std::size_t kWord = sizeof(std::uint64_t);

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void hold(GateWords* gate, std::uint64_t most_nanoseconds) {
  const std::uint64_t start = nanoseconds();
  while (gate->open == 0) {
    if (nanoseconds() - start > most_nanoseconds) {
      gate->missed = 1;
      return;
    }
  }
}

/// A look at the gate goes over the bus, where copies want to go: one a millisecond.
__global__ void spin(const GateWords* gate, std::uint64_t nanoseconds_to_spin) {
  constexpr std::uint64_t kBetweenLooks = 1'000'000;
  const std::uint64_t start = nanoseconds();
  for (std::uint64_t now = start, looked = start; now - start < nanoseconds_to_spin; now = nanoseconds()) {
    if (now - looked < kBetweenLooks) continue;
    if (gate->open != 0) return;
    looked = now;
  }
}

/// The bytes that lie in word `index` of a buffer: 8, but at its end.
__device__ std::size_t bytes_in_word(std::size_t bytes, std::size_t index) {
  const std::size_t left = bytes - index * kWord;
  return left < kWord ? left : kWord;
}

__global__ void fill(unsigned char* memory, std::size_t bytes, std::uint64_t seed) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i * kWord < bytes; i += stride) {
    const std::uint64_t word = pattern_word(seed, i);
    const std::size_t length = bytes_in_word(bytes, i);
    if (length == kWord) {
      *reinterpret_cast<std::uint64_t*>(memory + i * kWord) = word;
    } else {
      for (std::size_t k = 0; k < length; ++k) memory[i * kWord + k] = static_cast<unsigned char>(word >> (8 * k));
    }
  }
}

__global__ void count_mismatches(const unsigned char* memory, std::size_t bytes, std::uint64_t seed,
                                 unsigned long long* count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  unsigned long long different = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i * kWord < bytes; i += stride) {
    const std::uint64_t word = pattern_word(seed, i);
    const std::size_t length = bytes_in_word(bytes, i);
    if (length == kWord && *reinterpret_cast<const std::uint64_t*>(memory + i * kWord) == word) continue;
    for (std::size_t k = 0; k < length; ++k) {
      if (memory[i * kWord + k] != static_cast<unsigned char>(word >> (8 * k))) ++different;
    }
  }
  if (different != 0) atomicAdd(count, different);
}

template <class Value>
__global__ void normalize(TensorTarget<Value> target, const std::uint8_t* crops, const std::uint8_t* flips,
                          std::size_t pixels) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < pixels; i += stride) {
    normalize_pixel(target, crops, flips, i);
  }
}

template <class Value>
__global__ void crop(TensorTarget<Value> target, const CropJob* jobs, std::size_t pixels) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < pixels; i += stride) {
    crop_pixel(target, jobs, i);
  }
}

/// For `items` of which each thread takes one at a time.
unsigned blocks_for(std::size_t items, unsigned most) {
  const std::size_t blocks = (items + kThreads - 1) / kThreads;
  return blocks < most ? static_cast<unsigned>(blocks) : most;
}

unsigned word_blocks(std::size_t bytes) { return blocks_for((bytes + kWord - 1) / kWord, kMostBlocks); }

unsigned pixel_blocks(std::size_t pixels) { return blocks_for(pixels, kMostPixelBlocks); }

}  // namespace on_gpu

cudaError_t launch_hold(GateWords* gate, std::uint64_t most_nanoseconds, cudaStream_t stream) {
  hold<<<1, 1, 0, stream>>>(gate, most_nanoseconds);
  return cudaGetLastError();
}

cudaError_t launch_spin(const GateWords* gate, unsigned multiprocessors, std::uint64_t nanoseconds,
                        cudaStream_t stream) {
  constexpr unsigned kSpinning = 128;
  spin<<<multiprocessors, kSpinning, 0, stream>>>(gate, nanoseconds);
  return cudaGetLastError();
}

cudaError_t launch_fill_pattern(std::byte* memory, std::size_t bytes, std::uint64_t seed, cudaStream_t stream) {
  fill<<<word_blocks(bytes), kThreads, 0, stream>>>(reinterpret_cast<unsigned char*>(memory), bytes, seed);
  return cudaGetLastError();
}

cudaError_t launch_count_mismatches(const std::byte* memory, std::size_t bytes, std::uint64_t seed,
                                    unsigned long long* count, cudaStream_t stream) {
  count_mismatches<<<word_blocks(bytes), kThreads, 0, stream>>>(reinterpret_cast<const unsigned char*>(memory), bytes,
                                                                seed, count);
  return cudaGetLastError();
}

template <class Value>
cudaError_t launch_normalize(const TensorTarget<Value>& target, const std::uint8_t* crops, const std::uint8_t* flips,
                             std::size_t samples, cudaStream_t stream) {
  const std::size_t pixels = samples * target.pixels();
  normalize<<<pixel_blocks(pixels), kThreads, 0, stream>>>(target, crops, flips, pixels);
  return cudaGetLastError();
}

template <class Value>
cudaError_t launch_crops(const TensorTarget<Value>& target, const CropJob* jobs, std::size_t count,
                         cudaStream_t stream) {
  const std::size_t pixels = count * target.pixels();
  crop<<<pixel_blocks(pixels), kThreads, 0, stream>>>(target, jobs, pixels);
  return cudaGetLastError();
}

template cudaError_t launch_normalize(const TensorTarget<std::uint8_t>&, const std::uint8_t*, const std::uint8_t*,
                                      std::size_t, cudaStream_t);
template cudaError_t launch_normalize(const TensorTarget<std::uint16_t>&, const std::uint8_t*, const std::uint8_t*,
                                      std::size_t, cudaStream_t);
template cudaError_t launch_normalize(const TensorTarget<float>&, const std::uint8_t*, const std::uint8_t*, std::size_t,
                                      cudaStream_t);
template cudaError_t launch_crops(const TensorTarget<std::uint8_t>&, const CropJob*, std::size_t, cudaStream_t);
template cudaError_t launch_crops(const TensorTarget<std::uint16_t>&, const CropJob*, std::size_t, cudaStream_t);
template cudaError_t launch_crops(const TensorTarget<float>&, const CropJob*, std::size_t, cudaStream_t);

}  // namespace shardkit::gpu
