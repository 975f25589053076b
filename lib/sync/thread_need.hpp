#pragma once

#include <cstdint>

namespace shardkit {

/// Running estimate of the threads that keep `cores` cores busy when each step computes for `cpu` and waits for `wait`:
/// cores * (cpu + wait) / cpu. Not safe for use by several threads at once.
class ThreadNeed {
 public:
  explicit ThreadNeed(unsigned cores) : cores_(cores) {}

  /// Takes in one step (nanoseconds) done while `threads` were at work, and returns how many there should be: never
  /// more than twice as many, so that one slow first read does not start hundreds, and never fewer than there are,
  /// since an idle thread costs only its stack.
  unsigned after_step(std::int64_t cpu_ns, std::int64_t waited_ns, unsigned threads);

 private:
  unsigned cores_;
  double cpu_ns_ = 0;
  double waited_ns_ = 0;
};

}  // namespace shardkit
