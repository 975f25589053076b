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

#include "bench/input/image_stream.hpp"
#include "core/context.hpp"
#include "sync/bounded_queue.hpp"

/// Sources of compressed images, and their way to the workers.
namespace shardkit::bench {

/// Buffers that are reused, so that a warm pipeline allocates none. Idle ones use at most 64 MiB, and buffers of more
/// than 1 MiB are not kept: a few large images would make every buffer as large. Thread-safe.
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

  /// Buffers without memory are not kept, because the next user would have to allocate it.
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
  std::uint64_t queue_bytes = 1U << 20U;                            ///< of images that wait for a worker
  std::optional<std::uint64_t> samples{};                           ///< of one epoch
  std::optional<std::chrono::steady_clock::time_point> deadline{};  ///< no new samples after this time
};

/// Compressed images on their way from readers to workers in one epoch. Thread-safe.
class SampleFlow {
 public:
  SampleFlow(const FlowLimits& limits, unsigned readers);

  /// Waits for space. False if no more are needed: enough samples, end of time, or a stop.
  bool put(SampleBuffer image, const std::stop_token& stop);
  /// Called once by each reader when it has finished; the last one closes.
  void reader_ended();

  /// Waits for an image. Empty at the end or after a stop.
  std::optional<SampleBuffer> take(const std::stop_token& stop) { return queue_.pop(stop); }

  /// Bytes of the samples that came so far.
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::uint64_t samples() const { return samples_.load(std::memory_order_relaxed); }

 private:
  FlowLimits limits_;
  sync::BoundedQueue<SampleBuffer> queue_;
  std::atomic<std::uint64_t> claimed_{0};
  std::atomic<std::uint64_t> samples_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<unsigned> readers_;
};

/// Permits to make samples: the step issues them batch by batch, and so limits the prefetch. Thread-safe.
class Tickets {
 public:
  void add(std::uint64_t count) {
    const std::scoped_lock lock(mutex_);
    free_ += count;
    changed_.notify_all();
  }

  /// Waits for a permit. False if it was closed or stopped first.
  bool take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return closed_ || free_ > 0; });
    if (closed_ || stop.stop_requested()) return false;
    --free_;
    return true;
  }

  /// Nothing is left to make.
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

/// A source of images.
enum class SourceForm { shards, files, null };
constexpr auto enum_names(SourceForm) { return std::to_array<std::string_view>({"shards", "files", "null"}); }

class ImageSource {
 public:
  virtual ~ImageSource() = default;

  virtual SourceForm form() const = 0;
  /// More readers than this have nothing to do.
  virtual std::size_t most_readers() const = 0;

  /// Sets the order of epoch `epoch`, counted from 0. No reader runs during this call.
  virtual void begin_epoch(std::uint64_t epoch) = 0;
  /// Reads until nothing is left, no more is needed, or a stop. All readers of an epoch call it at the same time and
  /// share the data. Throws the errors of reading.
  virtual void read(SampleOutlet& outlet, const std::stop_token& stop) = 0;
};

/// Each shard is streamed by one reader in blocks of 256 KiB, which unpacks it if it is compressed, and the first image
/// of each sample is passed on. Image
/// files are opened, read and closed one after the other, in another random order in each epoch; other files are left
/// out. Throws Error{not_found} if there are neither shards nor image files.
std::unique_ptr<ImageSource> make_source(const InputSet& input, Context& context);

/// Empty images without end: measures the overhead without reading.
std::unique_ptr<ImageSource> null_source();

}  // namespace shardkit::bench
