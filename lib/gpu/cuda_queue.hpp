#pragma once

#include <cuda_runtime_api.h>

namespace shardkit::gpu {

/// Throws what a call of CUDA's runtime says when it is not success: Error{no_space} where memory is short, else
/// Error{io}. `action` as in "copy to the GPU".
void check_cuda(cudaError_t result, const char* action);

/// The device is a property of the calling thread. Any call of a thread without one makes a context on GPU 0, which may
/// be another's.
void select_cuda_device(int device);

/// A stream of CUDA's that gives itself back: what the Device's streams and nvJPEG enqueue their work in. One thread at
/// a time.
class CudaQueue {
 public:
  explicit CudaQueue(int device);
  ~CudaQueue();
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  int device() const { return device_; }
  cudaStream_t handle() const { return stream_; }
  /// The same for a call at once: makes this GPU the calling thread's.
  cudaStream_t use() const;
  /// Returns when all is done; throws what went wrong on the way.
  void synchronize();

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace shardkit::gpu
