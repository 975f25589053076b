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

/// How many requests to keep under way, found by climbing: more as long as that moves more bytes, back a step when it
/// does not, half when the other side asks for fewer. One thread at a time; knows no clock.
class Climb {
 public:
  /// `start` and `maximum` are at least 1.
  Climb(unsigned start, unsigned maximum);

  /// Requests to have under way now.
  unsigned level() const { return level_; }

  /// Takes the rate, in any unit, of an interval at this level, and thinks again. `throttled`: somebody was asked for
  /// fewer requests meanwhile.
  void measured(double rate, bool throttled);

 private:
  void probe();
  void step_back(unsigned level, int rest);

  unsigned level_;
  const unsigned maximum_;
  unsigned before_;  ///< the level from which the present one is tried
  bool probing_ = false;
  int mixed_ = 1;    ///< intervals to leave out, as they belong to two levels
  int rest_ = 0;     ///< intervals until the next attempt to climb
  double rate_ = 0;  ///< of the level before
};

/// Runs one function on as many threads as move the most bytes, as Climb finds out while they work: for requests to
/// others, whose answers take their time. (AdaptiveWorkers asks for threads by the time they wait: for disks.)
class ClimbingWorkers {
 public:
  /// `start` and `maximum` threads are at least 1.
  ClimbingWorkers(unsigned start, unsigned maximum, std::stop_token parent);

  /// One unit of work; false when there is none left for anybody.
  using Step = std::function<bool(const std::stop_token& stop)>;

  /// Calls `make_step` on each thread once and works by what it returns until a step returns false; rethrows the first
  /// exception, which stops all. The token that steps get fires then, or when `parent` does.
  void run(const std::function<Step()>& make_step);

  /// From any thread: bytes that came, a piece at a time.
  void moved(std::uint64_t bytes);
  /// From any thread: the other side asks for fewer requests.
  void throttled() { throttled_ = true; }

  /// Threads that may work now.
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

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable_any turn_;
  Climb climb_;
  unsigned threads_ = 0;
  bool finished_ = false;
  std::chrono::steady_clock::time_point measured_at_;
};

}  // namespace shardkit::sync
