#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "bench/pipeline/samples/sample_buffers.hpp"
#include "core/prng.hpp"
#include "sync/bounded_queue.hpp"

namespace shardkit {

struct FlowLimits {
  std::uint64_t queue_bytes = 1U << 20U;    ///< of images that wait for a worker
  std::uint64_t shuffle_samples = 0;        ///< of the shuffle buffer; 0: none
  std::uint64_t shuffle_bytes = 1U << 30U;  ///< that it takes at most, however few samples these are
  std::optional<std::uint64_t> samples{};   ///< of one epoch
  std::optional<std::chrono::steady_clock::time_point> deadline{};  ///< no new samples from then on
};

/// Compressed images on their way from readers to workers in one epoch, through a shuffle buffer when there is one:
/// it is filled first, then each sample that comes takes the place of one drawn by the seed, and at the end the rest
/// is drawn too. Thread-safe.
class SampleFlow {
 public:
  SampleFlow(const FlowLimits& limits, unsigned readers, std::uint64_t seed);

  /// Waits for room. False when no more are wanted: enough came, time is over, or the stop fired.
  bool put(SampleBuffer image, const std::stop_token& stop);
  /// Called once by each reader when it has nothing more; the last one empties the shuffle buffer and closes.
  void reader_ended(const std::stop_token& stop);

  /// Waits for an image. Empty at the end or when the stop fired.
  std::optional<SampleBuffer> take(const std::stop_token& stop) { return queue_.pop(stop); }

  /// Bytes of the samples that came so far.
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::uint64_t samples() const { return samples_.load(std::memory_order_relaxed); }

 private:
  bool push(SampleBuffer image, const std::stop_token& stop);
  /// What is to go on when `image` comes; empty while the buffer fills.
  std::optional<SampleBuffer> exchange(SampleBuffer image);

  FlowLimits limits_;
  BoundedQueue<SampleBuffer> queue_;
  std::atomic<std::uint64_t> claimed_{0};
  std::atomic<std::uint64_t> samples_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<unsigned> readers_;
  std::mutex mutex_;
  Prng prng_;
  std::vector<SampleBuffer> shuffled_;
  std::uint64_t shuffled_bytes_ = 0;
};

}  // namespace shardkit
