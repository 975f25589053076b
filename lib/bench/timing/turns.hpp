#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "bench/timing/timed_run.hpp"

namespace shardkit::bench {

/// When repeated work ends. Seconds count from the start of the first thread.
struct TurnLimits {
  std::optional<double> most_seconds{};  ///< stop at this time
  double least_seconds = 0;              ///< go through everything repeatedly until then; 0: once
};

/// Numbers from 0 to `count`, each once, or repeatedly while the limits require more. Thread-safe.
class Turns {
 public:
  Turns(std::uint64_t count, const TurnLimits& limits) : count_(count), limits_(limits) {}

  /// Called by each thread before it starts: time counts from the first of these calls.
  void begin() {
    std::call_once(begun_, [this] {
      again_until_ = moment_in(limits_.least_seconds);
      if (limits_.most_seconds) deadline_ = moment_in(*limits_.most_seconds);
    });
  }

  std::optional<std::uint64_t> next() {
    if (over()) return std::nullopt;
    const std::uint64_t turn = next_.fetch_add(1, std::memory_order_relaxed);
    if (turn < count_) return turn;
    if (count_ == 0 || limits_.least_seconds <= 0 || std::chrono::steady_clock::now() >= again_until_) {
      return std::nullopt;
    }
    return turn % count_;
  }

  /// How many different numbers were taken.
  std::uint64_t taken() const { return std::min(next_.load(std::memory_order_relaxed), count_); }

  /// True when nothing more should be started.
  bool over() const { return is_over(deadline_); }

  /// False for a read that arrived when the time was over, if another one arrived in time: its rate is that until then.
  bool counts(std::chrono::steady_clock::time_point finished) {
    if (!deadline_) return true;
    if (finished <= *deadline_) some_in_time_ = true;
    return finished <= *deadline_ || !some_in_time_;
  }
  /// Whether the time limits the rate: something arrived in time, and what came later does not count.
  bool counted_in_time() const { return deadline_ && some_in_time_; }

 private:
  const std::uint64_t count_;
  const TurnLimits limits_;
  std::once_flag begun_;
  std::chrono::steady_clock::time_point again_until_;
  Deadline deadline_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> some_in_time_{false};
};

}  // namespace shardkit::bench
