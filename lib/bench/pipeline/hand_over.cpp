#include "bench/pipeline/hand_over.hpp"

namespace shardkit {
namespace {

class HostMemory final : public BatchMemory {
 public:
  /// Zeroed, so that its pages are there before the first batch.
  explicit HostMemory(std::size_t bytes) : memory_(std::make_unique<std::byte[]>(bytes)), bytes_(bytes) {}
  MutableBytes bytes() override { return {memory_.get(), bytes_}; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t bytes_;
};

class HostSink final : public BatchSink {
 public:
  std::string_view name() const override { return "host"; }
  std::unique_ptr<BatchMemory> make_memory(std::size_t bytes) override { return std::make_unique<HostMemory>(bytes); }
  std::uint64_t hand_over(BatchMemory& /*memory*/, std::size_t /*bytes*/, unsigned /*gpu*/) override { return 0; }
  void release(std::uint64_t /*place*/) override {}
};

}  // namespace

std::unique_ptr<BatchSink> host_sink() { return std::make_unique<HostSink>(); }

}  // namespace shardkit
