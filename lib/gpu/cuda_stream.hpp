#pragma once

#include <cuda_runtime_api.h>

#include "gpu/cuda_queue.hpp"
#include "gpu/device.hpp"
#include "gpu/kernels.hpp"

namespace shardkit::gpu {

/// A word of pinned memory that a kernel looks at until the host writes it.
class CudaGate final : public Gate {
 public:
  CudaGate();
  ~CudaGate() override;
  CudaGate(const CudaGate&) = delete;
  CudaGate& operator=(const CudaGate&) = delete;

  void open() override;
  bool held() const override;

  /// Enqueues the kernel that waits.
  void hold(cudaStream_t stream);
  /// Enqueues the kernel that computes until the gate opens, at most so long.
  void spin(cudaStream_t stream, int device, std::uint64_t nanoseconds);

 private:
  GateWords* words_ = nullptr;
  GateWords* device_words_ = nullptr;
};

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(int device);
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void wait() override;
  bool is_reached() const override;
  double seconds_since(const Event& earlier) const override;
  cudaEvent_t handle() const { return event_; }

 private:
  int device_;
  cudaEvent_t event_ = nullptr;
};

class CudaStream final : public Stream {
 public:
  explicit CudaStream(int device) : queue_(device) {}

  void copy_to_device(DeviceSpan device, Bytes host) override;
  void copy_to_host(MutableBytes host, DeviceSpan device) override;
  void hold(Gate& gate) override;
  void record(Event& event) override;
  void normalise(const DeviceTensor& tensor, std::uint64_t samples, DeviceSpan crops, DeviceSpan flips) override;
  void crop(const DeviceTensor& tensor, DeviceSpan jobs, std::uint64_t count) override;
  void spin(Gate& gate, std::uint64_t nanoseconds) override;
  void wait(const Event& event) override;
  void synchronize() override { queue_.synchronize(); }

  cudaStream_t handle() const { return queue_.handle(); }

 private:
  CudaQueue queue_;
};

}  // namespace shardkit::gpu
