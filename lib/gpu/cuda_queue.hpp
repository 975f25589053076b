#pragma once

#include <cuda_runtime_api.h>

namespace shardkit::gpu {

/// Whether a call succeeded whose failure does not matter: forgets the error.
bool is_success(cudaError_t result);

/// Throws if a call of CUDA's runtime failed: Error{no_space} if there is not enough memory, else Error{io}. `action`
/// as in "copy to the GPU".
void check_cuda(cudaError_t result, const char* action);

/// The device is a property of the calling thread. A call from a thread without one would create a context on GPU 0,
/// which may not be ours. The first call for a device makes its context.
void select_cuda_device(int device);

/// A CUDA stream that destroys itself, for the work of Device's streams and nvJPEG. One thread at a time.
class CudaQueue {
 public:
  explicit CudaQueue(int device);
  ~CudaQueue();
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  int device() const { return device_; }
  cudaStream_t handle() const { return stream_; }
  /// Makes this GPU the current one of the calling thread.
  cudaStream_t use() const;
  /// Returns when all is done; throws the errors on the way.
  void synchronize();

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace shardkit::gpu
