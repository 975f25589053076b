#include "gpu/cuda_stream.hpp"

#include "gpu/cuda_call.hpp"
#include "gpu/cuda_gate.hpp"
#include "gpu/device_tensor.hpp"
#include "gpu/tensor_kernels.hpp"

namespace shardkit {
namespace {

/// The device is a property of the calling thread. Any call of a thread without one makes a context on GPU 0, which may
/// be another's.
void select(int device) { check_cuda(cudaSetDevice(device), "select the GPU"); }

cudaEvent_t handle_of(const Event& event) { return dynamic_cast<const CudaEvent&>(event).handle(); }

const std::uint8_t* levels_of(DeviceSpan memory) { return reinterpret_cast<const std::uint8_t*>(memory.data); }

}  // namespace

CudaEvent::CudaEvent(int device) : device_(device) {
  select(device);
  // Who waits sleeps: the core is wanted for decoding.
  check_cuda(cudaEventCreateWithFlags(&event_, cudaEventBlockingSync), "make an event");
}

CudaEvent::~CudaEvent() { cudaEventDestroy(event_); }

void CudaEvent::wait() {
  select(device_);
  check_cuda(cudaEventSynchronize(event_), "finish work on the GPU");
}

bool CudaEvent::is_reached() const {
  select(device_);
  const cudaError_t state = cudaEventQuery(event_);
  if (state != cudaErrorNotReady) check_cuda(state, "ask for an event");
  cudaGetLastError();  // else a launch would report that it was not ready
  return state == cudaSuccess;
}

double CudaEvent::seconds_since(const Event& earlier) const {
  select(device_);
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, handle_of(earlier), event_), "read the GPU's clock");
  return static_cast<double>(milliseconds) * 1e-3;
}

CudaStream::CudaStream(int device) : device_(device) {
  select(device);
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
}

CudaStream::~CudaStream() { cudaStreamDestroy(stream_); }

void CudaStream::copy_to_device(DeviceSpan device, Bytes host) {
  select(device_);
  check_cuda(cudaMemcpyAsync(device.data, host.data(), host.size(), cudaMemcpyHostToDevice, stream_),
             "copy to the GPU");
}

void CudaStream::copy_to_host(MutableBytes host, DeviceSpan device) {
  select(device_);
  check_cuda(cudaMemcpyAsync(host.data(), device.data, host.size(), cudaMemcpyDeviceToHost, stream_),
             "copy from the GPU");
}

void CudaStream::hold(Gate& gate) {
  select(device_);
  dynamic_cast<CudaGate&>(gate).hold(stream_);
}

void CudaStream::record(Event& event) {
  select(device_);
  check_cuda(cudaEventRecord(handle_of(event), stream_), "record an event");
}

void CudaStream::normalise(const DeviceTensor& tensor, std::uint64_t samples, DeviceSpan crops, DeviceSpan flips) {
  if (samples == 0) return;
  select(device_);
  const auto launch = [&](const auto& target) {
    return launch_normalise(target, levels_of(crops), levels_of(flips), samples, stream_);
  };
  check_cuda(with_target(tensor, launch), "normalise on the GPU");
}

void CudaStream::crop(const DeviceTensor& tensor, DeviceSpan jobs, std::uint64_t count) {
  if (count == 0) return;
  select(device_);
  const auto launch = [&](const auto& target) {
    return launch_crops(target, reinterpret_cast<const CropJob*>(jobs.data), count, stream_);
  };
  check_cuda(with_target(tensor, launch), "crop on the GPU");
}

void CudaStream::spin(Gate& gate, std::uint64_t nanoseconds) {
  select(device_);
  dynamic_cast<CudaGate&>(gate).spin(stream_, device_, nanoseconds);
}

void CudaStream::wait(const Event& event) {
  select(device_);
  check_cuda(cudaStreamWaitEvent(stream_, handle_of(event), 0), "wait for an event");
}

void CudaStream::synchronize() {
  select(device_);
  check_cuda(cudaStreamSynchronize(stream_), "finish work on the GPU");
}

}  // namespace shardkit
