#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "bench/pipeline/loader/hand_over.hpp"
#include "core/bytes.hpp"
#include "sync/bounded_queue.hpp"

namespace shardkit {

/// A place for one sample in a batch.
struct BatchSlot {
  std::size_t batch = 0;  ///< index of its memory
  MutableBytes sample;
  RawSample* raw = nullptr;  ///< what is told of it beside
};

/// A batch whose samples are all there.
struct FinishedBatch {
  std::size_t batch = 0;
  std::uint64_t samples = 0;
  std::span<RawSample> raw;  ///< valid until give_back()
};

/// Collects samples into batches, in memory that goes round. Workers take slots one after the other and fill them in
/// any order; a batch is passed on when its last slot is filled. For one epoch; thread-safe.
class BatchBuilder {
 public:
  /// `memories` outlive the builder and hold `batch` samples of `sample_bytes` each.
  BatchBuilder(std::span<const std::unique_ptr<BatchMemory>> memories, std::uint64_t batch, std::uint64_t sample_bytes,
               bool drop_last);

  /// The next slot; waits for a batch's memory. Empty when the stop fired.
  std::optional<BatchSlot> take_slot(const std::stop_token& stop);
  /// The slot's sample is written.
  void fill(const BatchSlot& slot, const std::stop_token& stop);
  /// No more samples come: passes on a batch that is not full, or drops it. Every slot is filled by then.
  void close(const std::stop_token& stop);

  /// The next finished batch. Empty at the end or when the stop fired.
  std::optional<FinishedBatch> next(const std::stop_token& stop) { return finished_.pop(stop); }
  /// The batch's memory may be used again.
  void give_back(std::size_t batch);

  /// Samples of the last batch when that was dropped.
  std::uint64_t dropped() const { return dropped_; }

 private:
  std::span<const std::unique_ptr<BatchMemory>> memories_;
  const std::uint64_t batch_;
  const std::uint64_t sample_bytes_;
  const bool drop_last_;
  BoundedQueue<FinishedBatch> finished_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::size_t> free_;
  std::optional<std::size_t> open_;    ///< the batch whose slots are being taken
  std::uint64_t taken_ = 0;            ///< of the open batch
  std::vector<std::uint64_t> filled_;  ///< slots, by batch
  std::vector<std::vector<RawSample>> raw_;
  std::uint64_t dropped_ = 0;
};

}  // namespace shardkit
