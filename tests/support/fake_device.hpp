#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.hpp"

namespace shardkit_test {

/// A GPU in host memory with a clock of its own: copies take `copy_seconds` plus bytes over the rate of their
/// direction, one at a time in each direction, however long they really take; a kernel takes `copy_seconds`. Nothing is
/// done before somebody waits for it, so that memory which is read or written again too early holds the wrong bytes.
/// What real devices would hang on, or forgive at times, throws std::logic_error here: a stream that is synchronized
/// behind a closed gate, memory that is freed twice, a stream that uses memory while another still works on it.
class FakeDevice final : public shardkit::gpu::Device {
 public:
  struct Settings {
    double to_device = 50e9;  ///< bytes per second
    double to_host = 40e9;
    double copy_seconds = 1e-6;
    std::uint64_t memory = std::uint64_t{64} << 20U;
    std::uint64_t index = 0;
    std::string name = "fake GPU";
    std::string pci_address = "0000:17:00.0";
    std::optional<std::uint64_t> numa_node = {};
    std::optional<std::uint64_t> damaged_copy = {};    ///< the copy, counted from 0, that loses a byte
    std::optional<std::uint64_t> damaged_kernel = {};  ///< the same of kernels that make tensors
    bool gates_give_up = false;                        ///< as if enqueuing had taken seconds
  };

  FakeDevice() : FakeDevice(Settings{}) {}
  explicit FakeDevice(const Settings& settings);
  ~FakeDevice() override;

  const shardkit::gpu::DeviceFacts& facts() const override { return facts_; }
  std::uint64_t free_memory() const override;
  shardkit::gpu::DeviceSpan allocate(std::size_t bytes) override;
  void free(shardkit::gpu::DeviceSpan memory) override;
  shardkit::MutableBytes allocate_pinned(std::size_t bytes, bool write_combined) override;
  void free_pinned(shardkit::MutableBytes memory) override;
  void register_memory(shardkit::MutableBytes memory) override;
  void unregister_memory(shardkit::MutableBytes memory) override;
  std::unique_ptr<shardkit::gpu::Stream> make_stream() override;
  std::unique_ptr<shardkit::gpu::Event> make_event() override;
  std::unique_ptr<shardkit::gpu::Gate> make_gate() override;
  void fill_pattern(shardkit::gpu::DeviceSpan memory, std::uint64_t seed) override;
  std::uint64_t count_mismatches(shardkit::gpu::DeviceSpan memory, std::uint64_t seed) override;

  /// Memory that was taken and not yet given back: of the device, pinned, registered.
  std::size_t allocations() const;
  std::uint64_t copies() const { return copies_.load(); }
  /// Nanoseconds that streams had to spin.
  std::uint64_t spun() const { return spun_.load(); }

  // For its streams: does a copy, and says when it is over that could begin at `earliest`.
  double copy(std::byte* to, const std::byte* from, std::size_t bytes, bool to_device, double earliest);
  /// Does what a kernel does; the same.
  double compute(const shardkit::gpu::DeviceTensor& tensor, std::uint64_t samples, const std::function<void()>& kernel,
                 double earliest);
  void spin(std::uint64_t nanoseconds) { spun_ += nanoseconds; }
  /// Work of `stream` on memory of the device, from `begin` to `end`.
  void use(const void* stream, shardkit::gpu::DeviceSpan memory, bool writes, double begin, double end);
  /// Streams and events of a device work one after the other, whichever threads have them.
  std::recursive_mutex& work_mutex() { return work_mutex_; }
  /// The host's clock, which stands at the latest end of work that it waited for: what it enqueues begins then.
  double host_now() const;
  void host_waited_until(double moment);

 private:
  /// As the real ones, blocks start on a page: direct reads into them are allowed.
  struct Free {
    void operator()(std::byte* block) const { ::operator delete (block, std::align_val_t{4096}); }
  };
  using Blocks = std::map<std::byte*, std::unique_ptr<std::byte, Free>>;
  std::byte* take(Blocks& blocks, std::size_t bytes);
  void give_back(Blocks& blocks, std::byte* block);

  const Settings settings_;
  shardkit::gpu::DeviceFacts facts_;
  mutable std::mutex mutex_;
  Blocks device_blocks_;
  Blocks pinned_blocks_;
  std::map<std::byte*, std::size_t> registered_;
  std::uint64_t used_ = 0;
  std::array<double, 2> engine_free_{};  ///< the moment from which each direction is free
  double host_now_ = 0;
  struct Use {
    const void* stream;
    const std::byte* data;
    std::size_t size;
    bool writes;
    double end;
  };
  std::deque<Use> uses_;
  std::atomic<std::uint64_t> copies_{0};
  std::atomic<std::uint64_t> kernels_{0};
  std::atomic<std::uint64_t> spun_{0};
  std::recursive_mutex work_mutex_;
};

}  // namespace shardkit_test
