#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace shardkit::sync {

/// A first-in first-out queue between threads with a total cost of at most `capacity`. Each item has a cost: 1 to count
/// items, or its bytes to limit memory. An item that costs more than the capacity enters when the queue is empty.
///
/// Any number of producers and consumers. Every wait ends when the stop token fires.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::uint64_t capacity) : capacity_(capacity) {}

  /// Waits for space. False if the queue was closed or the stop came first; then the item is dropped.
  bool push(T item, std::uint64_t cost, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, stop, [&] { return closed_ || used_ == 0 || used_ + cost <= capacity_; });
    if (closed_ || stop.stop_requested()) {
      has_room_.notify_one();  // the wake-up may have been meant for another thread
      return false;
    }
    used_ += cost;
    items_.emplace_back(std::move(item), cost);
    has_items_.notify_one();
    if (used_ < capacity_) has_room_.notify_one();  // another producer's item may fit too
    return true;
  }

  /// Waits for an item. Empty if the queue is closed and drained, or the stop came first.
  std::optional<T> pop(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    has_items_.wait(lock, stop, [&] { return closed_ || !items_.empty(); });
    if (items_.empty() || stop.stop_requested()) {
      has_items_.notify_one();
      return std::nullopt;
    }
    std::optional<T> item(std::move(items_.front().first));
    used_ -= items_.front().second;
    items_.pop_front();
    has_room_.notify_one();
    return item;
  }

  /// No more pushes; consumers drain the rest.
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    has_room_.notify_all();
    has_items_.notify_all();
  }

 private:
  const std::uint64_t capacity_;
  std::mutex mutex_;
  // Each change wakes one thread: waking all of many readers for each item costs as much as reading it.
  std::condition_variable_any has_room_;
  std::condition_variable_any has_items_;
  std::deque<std::pair<T, std::uint64_t>> items_;
  std::uint64_t used_ = 0;
  bool closed_ = false;
};

}  // namespace shardkit::sync
