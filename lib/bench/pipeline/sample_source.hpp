#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/input/input_files.hpp"
#include "core/bytes.hpp"
#include "core/context.hpp"
#include "core/prng.hpp"
#include "sync/bounded_queue.hpp"

/// Where a pipeline's compressed images come from, and how they go to the workers.
namespace shardkit::bench {

/// Memory for one compressed image. It only grows and is not cleared.
class SampleBuffer {
 public:
  /// Makes room for `bytes`; what was there is lost.
  void resize(std::size_t bytes) {
    if (bytes > capacity_) {
      memory_.reset(new std::byte[bytes]);
      capacity_ = bytes;
    }
    size_ = bytes;
  }
  MutableBytes bytes() { return {memory_.get(), size_}; }
  std::size_t size() const { return size_; }
  /// What it takes, though less of it may be used.
  std::size_t capacity() const { return capacity_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

/// Buffers that go round, so that a warm pipeline allocates none. Idle ones take at most 64 MiB, and one of more than
/// 1 MiB is not kept: a few large images would make every buffer as large. Thread-safe.
class SampleBuffers {
 public:
  static constexpr std::uint64_t kMostIdle = 64U << 20U;
  static constexpr std::size_t kLargest = 1U << 20U;

  SampleBuffer take(std::size_t bytes) {
    SampleBuffer buffer;
    {
      const std::scoped_lock lock(mutex_);
      if (!idle_.empty()) {
        buffer = std::move(idle_.back());
        idle_.pop_back();
        idle_bytes_ -= buffer.capacity();
      }
    }
    buffer.resize(bytes);
    return buffer;
  }

  /// One without memory is not kept: whoever takes it would have to allocate.
  void give_back(SampleBuffer buffer) {
    if (buffer.capacity() == 0 || buffer.capacity() > kLargest) return;
    const std::scoped_lock lock(mutex_);
    if (idle_bytes_ + buffer.capacity() > kMostIdle) return;
    idle_bytes_ += buffer.capacity();
    idle_.push_back(std::move(buffer));
  }

  std::uint64_t idle_bytes() {
    const std::scoped_lock lock(mutex_);
    return idle_bytes_;
  }
  std::size_t idle() {
    const std::scoped_lock lock(mutex_);
    return idle_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<SampleBuffer> idle_;
  std::uint64_t idle_bytes_ = 0;
};

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
  sync::BoundedQueue<SampleBuffer> queue_;
  std::atomic<std::uint64_t> claimed_{0};
  std::atomic<std::uint64_t> samples_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<unsigned> readers_;
  std::mutex mutex_;
  Prng prng_;
  std::vector<SampleBuffer> shuffled_;
  std::uint64_t shuffled_bytes_ = 0;
};

/// Leave to make samples: the step gives it out, batch by batch, and so bounds what is made ahead of it. Thread-safe.
class Tickets {
 public:
  void add(std::uint64_t count) {
    const std::scoped_lock lock(mutex_);
    free_ += count;
    changed_.notify_all();
  }

  /// Waits for a ticket. False when closed or the stop came first.
  bool take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return closed_ || free_ > 0; });
    if (closed_ || stop.stop_requested()) return false;
    --free_;
    return true;
  }

  /// There is nothing left to make.
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t free_ = 0;
  bool closed_ = false;
};

/// A larger image is passed over: a header can claim anything.
inline constexpr std::uint64_t kMostImageBytes = 256U << 20U;

/// Where a reader puts what it read. One thread each.
class SampleOutlet {
 public:
  virtual ~SampleOutlet() = default;
  /// Memory for an image of this size.
  virtual SampleBuffer buffer(std::size_t bytes) = 0;
  /// Passes an image on; waits for room. False when no more are wanted.
  virtual bool give(SampleBuffer image) = 0;
  /// One of more than kMostImageBytes was passed over.
  virtual void pass_over() = 0;
};

/// What images come from.
enum class SourceForm { shards, files, null };
constexpr auto enum_names(SourceForm) { return std::to_array<std::string_view>({"shards", "files", "null"}); }

class ImageSource {
 public:
  virtual ~ImageSource() = default;

  virtual SourceForm form() const = 0;
  /// Readers beyond this number have nothing to do.
  virtual std::size_t most_readers() const = 0;

  /// Puts the data in the order of epoch `epoch`, counted from 0. No reader runs meanwhile.
  virtual void begin_epoch(std::uint64_t epoch) = 0;
  /// Reads until nothing is left, no more is wanted or the stop comes. All readers of an epoch are in it at once and
  /// share the data. Throws what reading throws.
  virtual void read(SampleOutlet& outlet, const std::stop_token& stop) = 0;
};

struct SourceOrder {
  bool shuffled = false;  ///< shards are taken in an order drawn anew for each epoch, files without shards always
  std::uint64_t seed = 0;
};

/// Shards are streamed whole, one reader each, in blocks of 256 KiB; of each sample the first image is passed on. Image
/// files are opened, read and closed, one after the other; other files are left out. Throws Error{not_found} where
/// there are neither shards nor files that are images by name.
std::unique_ptr<ImageSource> make_source(const InputSet& input, const SourceOrder& order, Context& context);

/// Images of no bytes, without end: what is left when nothing is read.
std::unique_ptr<ImageSource> null_source();

}  // namespace shardkit::bench
