#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/aligned_buffer.hpp"
#include "io/read_engine.hpp"
#include "io/uring.hpp"

namespace shardkit {

class UringLane final : public ReadLane {
 public:
  UringLane(unsigned depth, std::size_t most);
  ~UringLane() override;

  void submit(const ReadRequest& request) override;
  ReadCompletion wait() override;
  unsigned under_way() const override { return under_way_; }

  /// 0, or the errno that registering the buffers gave.
  int buffer_failure() const { return buffer_failure_; }

 private:
  struct Slot {
    ReadRequest request;
    ReadWindow window;
    std::size_t done = 0;
    std::uint64_t kernel_reads = 0;
    std::chrono::steady_clock::time_point started;
  };

  std::byte* buffer_of(std::size_t slot) { return memory_.data() + slot * slot_bytes_; }
  void register_buffers();
  /// Prepares the read of what is missing of a slot.
  void prepare(std::size_t slot);
  /// Hands what was prepared to the kernel, and waits for one to be done when none is. Returns a slot and its result.
  std::pair<std::size_t, int> next_result();
  /// Hands what was prepared to the kernel and waits for `least`; tries again while the kernel is short of room.
  void enter(unsigned least);

  Uring uring_;
  std::size_t slot_bytes_;
  AlignedBuffer buffer_;
  MutableBytes memory_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;
  unsigned under_way_ = 0;
  int buffer_failure_ = 0;
};

}  // namespace shardkit
