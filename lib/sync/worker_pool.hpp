#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <utility>

#include "sync/task_group.hpp"

namespace shardkit::sync {

/// Runs one function on several threads, whose number a policy changes while they work: LatencyPool by the time that
/// they wait, RateClimber by the bytes that they move.
class WorkerPool {
 public:
  /// Values of 0 count as 1.
  WorkerPool(unsigned start, unsigned maximum, std::stop_token parent)
      : maximum_(std::max(maximum, 1U)), parent_(std::move(parent)), level_(std::clamp(start, 1U, maximum_)) {}

  /// One unit of work; false if there is none left for any thread.
  using Step = std::function<bool(const std::stop_token& stop)>;

  /// Calls `make_step` on each thread once and calls its result until a step returns false; rethrows the first
  /// exception, which stops all. The token of steps fires then, or when `parent` fires.
  void run(const std::function<Step()>& make_step);

  /// Number of threads that may work now.
  unsigned level() const { return level_; }
  /// From any thread: changes it, up to the maximum. Threads above it finish their step and wait; threads
  /// that the system refused are tried again.
  void set_level(unsigned level);

 private:
  void add_threads();
  void work(unsigned number, const std::stop_token& stop);
  bool wait_for_turn(unsigned number, const std::stop_token& stop);

  const unsigned maximum_;
  const std::stop_token parent_;

  std::mutex mutex_;  ///< guards changes of the members below
  TaskGroup* group_ = nullptr;
  const std::function<Step()>* make_step_ = nullptr;
  std::condition_variable_any turn_;
  std::atomic<unsigned> level_;
  std::atomic<bool> finished_ = true;
  unsigned threads_ = 0;
};

}  // namespace shardkit::sync
