#include "bench/timing/precise_wait.hpp"

#include <condition_variable>
#include <mutex>

#include <time.h>

namespace shardkit {
namespace {

using Clock = std::chrono::steady_clock;

/// A wait for a condition can be stopped but wakes late by a scheduler's tick; the last stretch is slept without it.
constexpr std::chrono::milliseconds kUnstoppable{10};
constexpr std::chrono::microseconds kSpin{100};

void sleep_until(Clock::time_point moment) {
  const auto since_epoch = moment.time_since_epoch();  // libstdc++'s steady_clock is CLOCK_MONOTONIC
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_epoch);
  timespec until{};
  until.tv_sec = seconds.count();
  until.tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch - seconds).count();
  while (Clock::now() < moment && ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

}  // namespace

bool wait_until(Clock::time_point moment, const std::stop_token& stop) {
  if (moment - Clock::now() > kUnstoppable) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_until(lock, stop, moment - kUnstoppable, [] { return false; });
  }
  if (stop.stop_requested()) return false;
  if (moment - Clock::now() > kSpin) sleep_until(moment - kSpin);
  while (Clock::now() < moment) {
  }
  return !stop.stop_requested();
}

}  // namespace shardkit
