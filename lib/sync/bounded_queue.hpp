#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace shardkit {

/// A first-in first-out queue between threads that holds at most `capacity` cost. Each item brings its cost: 1 to
/// count items, or its bytes to bound memory. An item dearer than the whole capacity enters when the queue is empty.
///
/// Any number of producers and consumers. Every wait ends when the stop token fires.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::uint64_t capacity) : capacity_(capacity) {}

  /// Waits for room. False when the queue was closed or the stop came first; the item is dropped then.
  bool push(T item, std::uint64_t cost, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return closed_ || used_ == 0 || used_ + cost <= capacity_; });
    if (closed_ || stop.stop_requested()) return false;
    used_ += cost;
    items_.emplace_back(std::move(item), cost);
    changed_.notify_all();
    return true;
  }

  /// Waits for an item. Empty when the queue is closed and drained, or the stop came first.
  std::optional<T> pop(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return closed_ || !items_.empty(); });
    if (items_.empty() || stop.stop_requested()) return std::nullopt;
    std::optional<T> item(std::move(items_.front().first));
    used_ -= items_.front().second;
    items_.pop_front();
    changed_.notify_all();
    return item;
  }

  /// No more pushes; consumers drain what is there.
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  const std::uint64_t capacity_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::pair<T, std::uint64_t>> items_;
  std::uint64_t used_ = 0;
  bool closed_ = false;
};

}  // namespace shardkit
