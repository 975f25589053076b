#include "gpu/cuda_call.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit {

void check_cuda(cudaError_t result, const char* action) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // else the next call would report it once more
  const bool memory = result == cudaErrorMemoryAllocation;
  throw Error(memory ? ErrorCode::no_space : ErrorCode::io,
              fmt::format("cannot {}: CUDA says {}: {}", action, static_cast<int>(result), cudaGetErrorString(result)));
}

void select_cuda_device(int device) { check_cuda(cudaSetDevice(device), "select the GPU"); }

}  // namespace shardkit
