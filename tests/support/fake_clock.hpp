#pragma once

#include <mutex>
#include <vector>

#include "core/error.hpp"
#include "system/clock.hpp"

namespace shardkit_test {

/// A clock that stands still until somebody sleeps. Thread-safe.
class FakeClock final : public shardkit::system::Clock {
 public:
  explicit FakeClock(shardkit::system::WallTime start = shardkit::system::WallTime(std::chrono::seconds(1'700'000'000)))
      : start_(start) {}

  shardkit::system::WallTime now() override {
    return start_ + std::chrono::duration_cast<shardkit::system::WallTime::duration>(monotonic());
  }
  shardkit::system::Seconds monotonic() override {
    const std::scoped_lock lock(mutex_);
    return elapsed_;
  }
  void sleep(shardkit::system::Seconds duration, const std::stop_token& stop) override {
    if (stop.stop_requested()) throw shardkit::Error(shardkit::ErrorCode::cancelled, "interrupted while waiting");
    const std::scoped_lock lock(mutex_);
    elapsed_ += duration;
    sleeps_.push_back(duration.count());
  }

  void advance(shardkit::system::Seconds duration) {
    const std::scoped_lock lock(mutex_);
    elapsed_ += duration;
  }
  /// All sleeps so far, in seconds.
  std::vector<double> sleeps() const {
    const std::scoped_lock lock(mutex_);
    return sleeps_;
  }

 private:
  const shardkit::system::WallTime start_;
  mutable std::mutex mutex_;
  shardkit::system::Seconds elapsed_{0};
  std::vector<double> sleeps_;
};

}  // namespace shardkit_test
