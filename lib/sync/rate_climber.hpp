#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "sync/worker_pool.hpp"

namespace shardkit::sync {

/// Finds the number of requests in flight by climbing: more as long as that moves more bytes, back a step if it does
/// not, half if the other side asks for fewer. For requests with long answers; LatencyPool is for disks.
class RateClimber {
 public:
  /// `start` and `maximum` are at least 1.
  RateClimber(unsigned start, unsigned maximum);

  /// Requests that should be in flight now.
  unsigned level() const { return level_; }

  /// Adds the rate, in any unit, of an interval at this level, and decides again. `throttled`: the other side asked for
  /// fewer requests. Uses no clock. One thread at a time.
  void measured(double rate, bool throttled);

  /// From any thread of `pool`: received bytes, piece by piece. Sets its level four times per second.
  void moved(std::uint64_t bytes, WorkerPool& pool);
  /// From any thread: the other side asks for fewer requests.
  void throttled() { throttled_ = true; }

 private:
  void probe();
  void step_back(unsigned level, int pause);

  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<bool> throttled_{false};

  std::mutex mutex_;  ///< held by moved(), which changes the members below
  std::chrono::steady_clock::time_point measured_at_ = std::chrono::steady_clock::now();
  unsigned level_;
  const unsigned maximum_;
  unsigned before_;  ///< the level from which the current one is tried
  bool probing_ = false;
  int mixed_ = 1;    ///< intervals to ignore, because they belong to two levels
  int pause_ = 0;    ///< intervals until the next attempt to climb
  double rate_ = 0;  ///< of the level before
};

}  // namespace shardkit::sync
