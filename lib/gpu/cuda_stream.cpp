#include "gpu/cuda_stream.hpp"

#include "gpu/cuda_call.hpp"
#include "gpu/cuda_gate.hpp"

namespace shardkit {
namespace {

/// The device is a property of the calling thread.
void select(int device) { check_cuda(cudaSetDevice(device), "select the GPU"); }

cudaEvent_t handle_of(const Event& event) { return dynamic_cast<const CudaEvent&>(event).handle(); }

}  // namespace

CudaEvent::CudaEvent(int device) {
  select(device);
  check_cuda(cudaEventCreate(&event_), "make an event");
}

CudaEvent::~CudaEvent() { cudaEventDestroy(event_); }

double CudaEvent::seconds_since(const Event& earlier) const {
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

void CudaStream::wait(const Event& event) {
  select(device_);
  check_cuda(cudaStreamWaitEvent(stream_, handle_of(event), 0), "wait for an event");
}

void CudaStream::synchronize() {
  select(device_);
  check_cuda(cudaStreamSynchronize(stream_), "finish work on the GPU");
}

}  // namespace shardkit
