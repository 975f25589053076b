#pragma once

#include "gpu/device.hpp"

namespace shardkit {

/// A GPU by CUDA's runtime. Making one asks for its facts only; its context is made with the first use.
class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index);

  const DeviceFacts& facts() const override { return facts_; }
  std::uint64_t free_memory() const override;
  DeviceSpan allocate(std::size_t bytes) override;
  void free(DeviceSpan memory) override;
  MutableBytes allocate_pinned(std::size_t bytes, bool write_combined) override;
  void free_pinned(MutableBytes memory) override;
  void register_memory(MutableBytes memory) override;
  void unregister_memory(MutableBytes memory) override;
  std::unique_ptr<Stream> make_stream() override;
  std::unique_ptr<Event> make_event() override;
  std::unique_ptr<Gate> make_gate() override;
  void fill_pattern(DeviceSpan memory, std::uint64_t seed) override;
  std::uint64_t count_mismatches(DeviceSpan memory, std::uint64_t seed) override;

 private:
  void select() const;

  int index_;
  DeviceFacts facts_;
};

}  // namespace shardkit
