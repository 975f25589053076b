#include "gpu/cuda_queue.hpp"

#include <array>
#include <mutex>

#include <fmt/format.h>

#include "core/error.hpp"
#include "gpu/device.hpp"

namespace shardkit::gpu {

bool is_success(cudaError_t result) {
  if (result != cudaSuccess) cudaGetLastError();  // else the next launch would report it once more
  return result == cudaSuccess;
}

void check_cuda(cudaError_t result, const char* action) {
  if (is_success(result)) return;
  const bool memory = result == cudaErrorMemoryAllocation;
  throw Error(memory ? ErrorCode::no_space : ErrorCode::io,
              fmt::format("cannot {}: CUDA error {}: {}", action, static_cast<int>(result),
                          cuda_text(result, cudaGetErrorString(result))));
}

void select_cuda_device(int device) {
  static std::array<std::once_flag, 256> prepared;
  // A thread that waits for the GPU sleeps, also within nvJPEG: its core is needed for decoding.
  std::call_once(prepared.at(static_cast<std::size_t>(device)), [device] {
    check_cuda(cudaInitDevice(device, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid), "use the GPU");
  });
  check_cuda(cudaSetDevice(device), "select the GPU");
}

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
