#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/bytes.hpp"
#include "io/file.hpp"

namespace shardkit::dataset {

/// Aligned memory that is reused, because fresh pages cost a fault each. Bytes start undefined.
struct Buffer {
  io::AlignedBuffer memory;
  std::size_t capacity = 0;
  MutableBytes bytes() { return memory.get(capacity); }
};

/// Capacities are multiples of this, so that a spare fits the next request more often.
inline constexpr std::size_t kGrain = 128U * 1024U;

/// Lends buffers and keeps the sum of lent buffers below a budget. Thread-safe.
class BufferPool {
 public:
  explicit BufferPool(std::uint64_t budget) : budget_(budget) {}

  /// Waits for free budget; a buffer larger than the whole budget is lent if nothing else is. Empty if the stop is
  /// requested first.
  std::optional<Buffer> take(std::size_t size, const std::stop_token& stop) {
    const std::size_t capacity = (size + kGrain - 1) / kGrain * kGrain;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return lent_ == 0 || lent_ + capacity <= budget_; });
    if (stop.stop_requested()) return std::nullopt;
    const auto fit = std::ranges::find_if(
        spares_, [&](const Buffer& spare) { return spare.capacity >= capacity && spare.capacity <= 2 * capacity; });
    if (fit != spares_.end()) {
      Buffer buffer = std::move(*fit);
      *fit = std::move(spares_.back());
      spares_.pop_back();
      spare_ -= buffer.capacity;
      lent_ += buffer.capacity;
      return buffer;
    }
    while (!spares_.empty() && lent_ + spare_ + capacity > budget_) {
      spare_ -= spares_.back().capacity;
      spares_.pop_back();
    }
    lent_ += capacity;
    lock.unlock();
    return Buffer{{}, capacity};
  }

  void give_back(Buffer buffer) {
    const std::scoped_lock lock(mutex_);
    lent_ -= buffer.capacity;
    if (lent_ + spare_ + buffer.capacity <= budget_) {
      spare_ += buffer.capacity;
      spares_.push_back(std::move(buffer));
    }
    changed_.notify_all();
  }

 private:
  const std::uint64_t budget_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t lent_ = 0;   ///< bytes
  std::uint64_t spare_ = 0;  ///< bytes in spares_
  std::vector<Buffer> spares_;
};

}  // namespace shardkit::dataset
