#pragma once

#include "gpu/device.hpp"
#include "gpu/kernels.hpp"

namespace shardkit {

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

}  // namespace shardkit
