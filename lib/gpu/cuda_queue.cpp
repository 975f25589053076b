#include "gpu/cuda_queue.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit::gpu {

void check_cuda(cudaError_t result, const char* action) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // else the next call would report it once more
  const bool memory = result == cudaErrorMemoryAllocation;
  throw Error(
      memory ? ErrorCode::no_space : ErrorCode::io,
      fmt::format("cannot {}: CUDA error {}: {}", action, static_cast<int>(result), cudaGetErrorString(result)));
}

void select_cuda_device(int device) { check_cuda(cudaSetDevice(device), "select the GPU"); }

CudaQueue::CudaQueue(int device) : device_(device) {
  select_cuda_device(device);
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
}

CudaQueue::~CudaQueue() { cudaStreamDestroy(stream_); }

cudaStream_t CudaQueue::use() const {
  select_cuda_device(device_);
  return stream_;
}

void CudaQueue::synchronize() { check_cuda(cudaStreamSynchronize(use()), "finish work on the GPU"); }

}  // namespace shardkit::gpu
