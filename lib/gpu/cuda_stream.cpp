#include "gpu/cuda_stream.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "gpu/device_tensor.hpp"
#include "gpu/kernels.hpp"

namespace shardkit::gpu {
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

namespace {

cudaEvent_t handle_of(const Event& event) { return dynamic_cast<const CudaEvent&>(event).handle(); }

const std::uint8_t* levels_of(DeviceSpan memory) { return reinterpret_cast<const std::uint8_t*>(memory.data); }

}  // namespace

CudaEvent::CudaEvent(int device) : device_(device) {
  select_cuda_device(device);
  // Who waits sleeps: the core is wanted for decoding.
  check_cuda(cudaEventCreateWithFlags(&event_, cudaEventBlockingSync), "make an event");
}

CudaEvent::~CudaEvent() { cudaEventDestroy(event_); }

void CudaEvent::wait() {
  select_cuda_device(device_);
  check_cuda(cudaEventSynchronize(event_), "finish work on the GPU");
}

bool CudaEvent::is_reached() const {
  select_cuda_device(device_);
  const cudaError_t state = cudaEventQuery(event_);
  if (state != cudaErrorNotReady) check_cuda(state, "ask for an event");
  cudaGetLastError();  // else a launch would report that it was not ready
  return state == cudaSuccess;
}

double CudaEvent::seconds_since(const Event& earlier) const {
  select_cuda_device(device_);
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, handle_of(earlier), event_), "read the GPU's clock");
  return static_cast<double>(milliseconds) * 1e-3;
}

void CudaStream::copy_to_device(DeviceSpan device, Bytes host) {
  check_cuda(cudaMemcpyAsync(device.data, host.data(), host.size(), cudaMemcpyHostToDevice, queue_.use()),
             "copy to the GPU");
}

void CudaStream::copy_to_host(MutableBytes host, DeviceSpan device) {
  check_cuda(cudaMemcpyAsync(host.data(), device.data, host.size(), cudaMemcpyDeviceToHost, queue_.use()),
             "copy from the GPU");
}

void CudaStream::hold(Gate& gate) { dynamic_cast<CudaGate&>(gate).hold(queue_.use()); }

void CudaStream::record(Event& event) {
  check_cuda(cudaEventRecord(handle_of(event), queue_.use()), "record an event");
}

void CudaStream::normalise(const DeviceTensor& tensor, std::uint64_t samples, DeviceSpan crops, DeviceSpan flips) {
  if (samples == 0) return;
  const auto launch = [&](const auto& target) {
    return launch_normalise(target, levels_of(crops), levels_of(flips), samples, queue_.use());
  };
  check_cuda(with_target(tensor, launch), "normalise on the GPU");
}

void CudaStream::crop(const DeviceTensor& tensor, DeviceSpan jobs, std::uint64_t count) {
  if (count == 0) return;
  const auto launch = [&](const auto& target) {
    return launch_crops(target, reinterpret_cast<const CropJob*>(jobs.data), count, queue_.use());
  };
  check_cuda(with_target(tensor, launch), "crop on the GPU");
}

void CudaStream::spin(Gate& gate, std::uint64_t nanoseconds) {
  dynamic_cast<CudaGate&>(gate).spin(queue_.use(), queue_.device(), nanoseconds);
}

void CudaStream::wait(const Event& event) {
  check_cuda(cudaStreamWaitEvent(queue_.use(), handle_of(event), 0), "wait for an event");
}

}  // namespace shardkit::gpu
