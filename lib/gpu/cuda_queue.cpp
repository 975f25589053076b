#include "gpu/cuda_queue.hpp"

#include "gpu/cuda_call.hpp"

namespace shardkit {

CudaQueue::CudaQueue(int device) : device_(device) {
  select_cuda_device(device);
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
}

CudaQueue::~CudaQueue() { cudaStreamDestroy(stream_); }

cudaStream_t CudaQueue::use() const {
  select_cuda_device(device_);
  return stream_;
}

void CudaQueue::synchronize() { check_cuda(cudaStreamSynchronize(use()), "finish work on the GPU"); }

}  // namespace shardkit
