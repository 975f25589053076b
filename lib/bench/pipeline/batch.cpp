#include "bench/pipeline/batch.hpp"

#include <stdexcept>

namespace shardkit::bench {
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
  SinkKind kind() const override { return SinkKind::host; }
  std::unique_ptr<BatchMemory> make_memory(std::size_t bytes) override { return std::make_unique<HostMemory>(bytes); }
  HandedBatch hand_over(const OutgoingBatch& batch, StageClock& /*clock*/) override { return {0, batch.samples}; }
  void release(std::uint64_t /*slot*/) override {}
};

}  // namespace

bool BatchSink::compute(std::span<const std::uint64_t> /*slots*/, double /*seconds*/, const std::stop_token&) {
  throw std::logic_error("this sink has no GPU that computes");
}

std::unique_ptr<BatchSink> host_sink() { return std::make_unique<HostSink>(); }

BatchBuilder::BatchBuilder(std::span<const std::unique_ptr<BatchMemory>> memories, std::uint64_t batch,
                           std::uint64_t sample_bytes)
    : memories_(memories),
      batch_(batch),
      sample_bytes_(sample_bytes),
      finished_(memories.size()),
      filled_(memories.size()),
      raw_(memories.size()) {
  for (std::vector<RawSample>& samples : raw_) samples.resize(batch);
  for (std::size_t i = memories.size(); i > 0; --i) free_.push_back(i - 1);
}

std::optional<BatchSlot> BatchBuilder::take_slot(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return open_ || !free_.empty(); });
  if (stop.stop_requested()) return std::nullopt;
  if (!open_) {
    open_ = free_.back();
    free_.pop_back();
    taken_ = 0;
    filled_[*open_] = 0;
  }
  const BatchSlot slot{*open_, memories_[*open_]->bytes().subspan(taken_ * sample_bytes_, sample_bytes_),
                       &raw_[*open_][taken_]};
  if (++taken_ == batch_) open_.reset();
  return slot;
}

void BatchBuilder::fill(const BatchSlot& slot, const std::stop_token& stop) {
  {
    const std::scoped_lock lock(mutex_);
    if (++filled_[slot.batch] < batch_) return;
  }
  finished_.push({slot.batch, batch_, raw_[slot.batch]}, 1, stop);
}

void BatchBuilder::close(const std::stop_token& stop) {
  std::optional<std::size_t> last;
  {
    const std::scoped_lock lock(mutex_);
    last.swap(open_);
  }
  if (last) finished_.push({*last, taken_, std::span(raw_[*last]).first(taken_)}, 1, stop);
  finished_.close();
}

void BatchBuilder::give_back(std::size_t batch) {
  const std::scoped_lock lock(mutex_);
  free_.push_back(batch);
  changed_.notify_all();
}

}  // namespace shardkit::bench
