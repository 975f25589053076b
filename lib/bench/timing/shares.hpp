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

  /// The seconds of the next part: its share of the limit, or less if earlier parts took longer than theirs.
  double take(double share) {
    const double planned = seconds_ * share;
    return std::max(std::min(planned, take_of_remaining(share)), kLeast);
  }

  /// The same, or more if earlier parts took less.
  double take_of_remaining(double share) {
    const double left = std::max(seconds_until(end_), 0.0) * share / std::max(untaken_, share);
    untaken_ -= share;
    return std::max(left, kLeast);
  }

  /// Whether earlier parts took so long that another one would end more than two seconds after the limit: its last
  /// reads take time as well.
  bool are_used_up() const {
    constexpr double kMostLate = 0.5;
    return seconds_until(end_) < -kMostLate;
  }

 private:
  static constexpr double kLeast = 0.05;

  double seconds_;
  std::chrono::steady_clock::time_point end_;
  double untaken_;
};

}  // namespace shardkit::bench
