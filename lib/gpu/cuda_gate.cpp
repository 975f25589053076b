#include "gpu/cuda_gate.hpp"

#include "gpu/cuda_call.hpp"

namespace shardkit {
namespace {

/// Longer than enqueuing ever takes, so that a program that fails in between does not hang.
constexpr std::uint64_t kMostNanoseconds = 10'000'000'000;

}  // namespace

CudaGate::CudaGate() {
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, sizeof(GateWords), cudaHostAllocMapped | cudaHostAllocPortable), "make a gate");
  words_ = static_cast<GateWords*>(memory);
  words_->open = 0;
  words_->missed = 0;
  void* seen = nullptr;
  const cudaError_t result = cudaHostGetDevicePointer(&seen, memory, 0);
  if (result != cudaSuccess) cudaFreeHost(memory);
  check_cuda(result, "make a gate");
  device_words_ = static_cast<GateWords*>(seen);
}

CudaGate::~CudaGate() {
  open();
  cudaFreeHost(words_);  // waits for the kernels that look at it
}

void CudaGate::open() {
  // Not a fence, of which ThreadSanitizer knows nothing; and no std::atomic, which kernels cannot share.
  __atomic_store_n(&words_->open, 1, __ATOMIC_SEQ_CST);
}

bool CudaGate::held() const { return words_->missed == 0; }

void CudaGate::hold(cudaStream_t stream) {
  check_cuda(launch_hold(device_words_, kMostNanoseconds, stream), "hold a stream");
}

void CudaGate::spin(cudaStream_t stream, int device, std::uint64_t nanoseconds) {
  int multiprocessors = 1;
  check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
             "ask the GPU what it is");
  check_cuda(launch_spin(device_words_, static_cast<unsigned>(multiprocessors), nanoseconds, stream),
             "compute on the GPU");
}

}  // namespace shardkit
