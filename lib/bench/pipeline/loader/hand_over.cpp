#include "bench/pipeline/loader/hand_over.hpp"

#include <stdexcept>

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
  HandedBatch hand_over(const OutgoingBatch& batch, StageClock& /*clock*/) override { return {0, batch.samples}; }
  void release(std::uint64_t /*place*/) override {}
};

}  // namespace

bool BatchSink::compute(std::span<const std::uint64_t> /*places*/, double /*seconds*/, const std::stop_token&) {
  throw std::logic_error("this sink has no GPU that computes");
}

std::unique_ptr<BatchSink> host_sink() { return std::make_unique<HostSink>(); }

}  // namespace shardkit
