#include "gpu/kernels.hpp"
#include "gpu/pattern.hpp"

namespace shardkit::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMostBlocks = 4096;  // threads go over the memory in strides
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

unsigned blocks_for(std::size_t bytes) {
  const std::size_t blocks = (bytes + kThreads * kWord - 1) / (kThreads * kWord);
  return blocks < kMostBlocks ? static_cast<unsigned>(blocks) : kMostBlocks;
}

}  // namespace

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
  fill<<<blocks_for(bytes), kThreads, 0, stream>>>(reinterpret_cast<unsigned char*>(memory), bytes, seed);
  return cudaGetLastError();
}

cudaError_t launch_count_mismatches(const std::byte* memory, std::size_t bytes, std::uint64_t seed,
                                    unsigned long long* count, cudaStream_t stream) {
  count_mismatches<<<blocks_for(bytes), kThreads, 0, stream>>>(reinterpret_cast<const unsigned char*>(memory), bytes,
                                                               seed, count);
  return cudaGetLastError();
}

}  // namespace shardkit::gpu
