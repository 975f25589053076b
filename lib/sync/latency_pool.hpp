#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <utility>

#include "sync/worker_pool.hpp"

namespace shardkit::sync {

/// Running estimate of the threads that keep `cores` cores busy when each step computes for `cpu` and waits for `wait`:
/// cores * (cpu + wait) / cpu. Not safe for use by several threads at once.
class ThreadDemand {
 public:
  explicit ThreadDemand(unsigned cores) : cores_(cores) {}

  /// Adds one step (nanoseconds) done while `threads` were at work, and returns how many there should be: at most twice
  /// as many, so that one slow first read does not start hundreds, and at least the current number, because an idle
  /// thread costs only its stack.
  unsigned after_step(std::int64_t cpu_ns, std::int64_t waited_ns, unsigned threads);

 private:
  unsigned cores_;
  double cpu_ns_ = 0;
  double waited_ns_ = 0;
};

/// Time that one worker spent waiting for a slow source, without computing. Wrap each blocking read:
///
///     { const WaitMeter::Scope waiting(meter); pread(...); }
///
/// Time spent ready to run while other threads had the cores does not count, because more threads would not help. One
/// meter per thread, created and used by that thread.
class WaitMeter {
 public:
  WaitMeter();
  ~WaitMeter();
  WaitMeter(const WaitMeter&) = delete;
  WaitMeter& operator=(const WaitMeter&) = delete;

  class Scope {
   public:
    explicit Scope(WaitMeter& meter);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    WaitMeter& meter_;
    std::int64_t start_ns_;
  };

  /// Nanoseconds waited in scopes that ended since the last call.
  std::int64_t take_waited_ns() { return std::exchange(waited_ns_, 0); }

 private:
  std::int64_t idle_ns() const;

  int schedstat_;  ///< open /proc/thread-self/schedstat, or -1
  std::int64_t waited_ns_ = 0;
};

/// How many operations are kept in flight.
struct InFlightLimits {
  unsigned cores = 1;      ///< threads that may compute at the same time
  unsigned minimum = 1;    ///< threads from the start
  unsigned maximum = 512;  ///< maximum
};

/// Runs one function on as many threads as necessary to keep the cores busy although each waits for I/O (ThreadDemand):
/// about `cores` on a warm page cache and hundreds on a source with a millisecond of latency. Threads are added while
/// the measured need is above their number, and never removed.
class LatencyPool {
 public:
  /// `step` does one unit of work and returns false if there is none left; it is called from many threads at once. The
  /// first exception stops all of them. Its token fires then, or when `parent` fires.
  using Step = std::function<bool(WaitMeter& meter, const std::stop_token& stop)>;

  LatencyPool(const InFlightLimits& limits, std::stop_token parent)
      : workers_(limits.minimum, limits.maximum, std::move(parent)), need_(limits.cores) {}

  /// Works until a step returns false; rethrows the first exception.
  void run(const Step& step);

  /// Number of threads, also after the run.
  unsigned in_flight() const { return workers_.level(); }

 private:
  void add_threads(std::int64_t cpu_ns, std::int64_t waited_ns);

  WorkerPool workers_;
  std::mutex mutex_;
  ThreadDemand need_;
};

}  // namespace shardkit::sync
