#pragma once

#include <algorithm>
#include <chrono>

#include "bench/timing/timed_run.hpp"

namespace shardkit::bench {

/// Divides a time limit among the parts of a measurement, in their order. A part that took longer than its share, such
/// as by the last reads of slow storage, shortens those after it, so that the whole ends in time. Used by one thread.
class Shares {
 public:
  /// The limit starts now. `whole` is the sum of all shares: 1, or less to leave time for something else.
  explicit Shares(double seconds, double whole = 1) : seconds_(seconds), end_(moment_in(seconds)), untaken_(whole) {}

  /// The seconds of the next part.
  double take(double share) {
    constexpr double kLeast = 0.05;
    const double left = std::max(seconds_until(end_), 0.0) * share / std::max(untaken_, share);
    untaken_ -= share;
    return std::max(std::min(seconds_ * share, left), kLeast);
  }

  /// Whether earlier parts took so long that another one would end more than two seconds after the limit: its last
  /// reads take time as well.
  bool are_used_up() const {
    constexpr double kMostLate = 0.5;
    return seconds_until(end_) < -kMostLate;
  }

 private:
  double seconds_;
  std::chrono::steady_clock::time_point end_;
  double untaken_;
};

}  // namespace shardkit::bench
