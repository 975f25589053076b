#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>

#include "sync/task_group.hpp"

namespace shardkit::sync {

/// Finds the number of requests in flight by climbing: more as long as that moves more bytes, back a step if it does
/// not, half if the other side asks for fewer. One thread at a time; uses no clock.
class RateClimber {
 public:
  /// `start` and `maximum` are at least 1.
  RateClimber(unsigned start, unsigned maximum);

  /// Requests that should be in flight now.
  unsigned level() const { return level_; }

  /// Adds the rate, in any unit, of an interval at this level, and decides again. `throttled`: the other side asked for
  /// fewer requests.
  void measured(double rate, bool throttled);

 private:
  void probe();
  void step_back(unsigned level, int pause);

  unsigned level_;
  const unsigned maximum_;
  unsigned before_;  ///< the level from which the current one is tried
  bool probing_ = false;
  int mixed_ = 1;    ///< intervals to ignore, because they belong to two levels
  int pause_ = 0;    ///< intervals until the next attempt to climb
  double rate_ = 0;  ///< of the level before
};

/// Runs one function on as many threads as move the most bytes, as found by RateClimber while they work: for requests
/// with long answers. (LatencyPool chooses threads by their waiting time: for disks.)
class ClimbingWorkers {
 public:
  /// `start` and `maximum` threads are at least 1.
  ClimbingWorkers(unsigned start, unsigned maximum, std::stop_token parent);

  /// One unit of work; false if there is none left for any thread.
  using Step = std::function<bool(const std::stop_token& stop)>;

  /// Calls `make_step` on each thread once and calls its result until a step returns false; rethrows the first
  /// exception, which stops all. The token of steps fires then, or when `parent` fires.
  void run(const std::function<Step()>& make_step);

  /// From any thread: received bytes, piece by piece.
  void moved(std::uint64_t bytes);
  /// From any thread: the other side asks for fewer requests.
  void throttled() { throttled_ = true; }

  /// Number of threads that may work now.
  unsigned level() const;

 private:
  void add_threads();
  void work(unsigned number, const std::stop_token& stop);
  bool wait_for_turn(unsigned number, const std::stop_token& stop);
  void measure(std::chrono::steady_clock::time_point now);

  TaskGroup* group_ = nullptr;
  const std::function<Step()>* make_step_ = nullptr;
  std::stop_token parent_;
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<bool> throttled_{false};

  mutable std::mutex mutex_;  ///< guards the members below
  std::condition_variable_any turn_;
  RateClimber climb_;
  unsigned threads_ = 0;
  bool finished_ = false;
  std::chrono::steady_clock::time_point measured_at_;
};

}  // namespace shardkit::sync
