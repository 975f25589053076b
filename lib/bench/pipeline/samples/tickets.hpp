#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

namespace shardkit {

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

}  // namespace shardkit
