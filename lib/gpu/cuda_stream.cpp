#include "gpu/cuda_stream.hpp"

#include "gpu/cuda_call.hpp"
#include "gpu/cuda_gate.hpp"
#include "gpu/device_tensor.hpp"
#include "gpu/tensor_kernels.hpp"

namespace shardkit {
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

}  // namespace shardkit
