#pragma once

#include <chrono>
#include <stop_token>

namespace shardkit {

using WallTime = std::chrono::system_clock::time_point;
using Seconds = std::chrono::duration<double>;

/// The time of day and waiting: the seam by which tests of retries, expiries and rates take no time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime now() = 0;
  /// Seconds since some moment, which no correction of the time of day moves.
  virtual Seconds monotonic() = 0;
  /// Throws Error{cancelled} as soon as a stop is requested, also before it waits.
  virtual void sleep(Seconds duration, const std::stop_token& stop) = 0;
};

/// The machine's. Lives as long as the program.
Clock& system_clock();

}  // namespace shardkit
