#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/fields.hpp"
#include "stats/summary.hpp"

namespace shardkit::bench {

/// Waits until `moment` to within a few microseconds: sleeps as long as the kernel's timers are exact enough, then
/// spins for at most 0.1 ms. Returns false early on a stop.
bool wait_until(std::chrono::steady_clock::time_point moment, const std::stop_token& stop);

/// The moment `seconds` from now; very large values count as years.
std::chrono::steady_clock::time_point moment_in(double seconds);

/// The end of the time for some work; empty: it has no limit.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;
bool is_over(const Deadline& deadline);
double seconds_until(std::chrono::steady_clock::time_point moment);

/// A wait that does not matter: 2 % of the shortest steps that train on images, 50 ms (docs/explain/comparing.md).
inline constexpr double kUnfeltWait = 0.001;

/// Results of a timed run.
struct Timing {
  double seconds = 0;
  double cpu_seconds = 0;  ///< of the whole process, user and system
  std::vector<double>
      rates;  ///< of the counter per second, over slices of equal length, without the last incomplete one
};

/// Runs `work(thread)` on `threads` threads and samples `counter`, which they increase. Returns when all are done;
/// rethrows their first exception. `work` gets a token that fires if a sibling fails or `parent` fires.
Timing timed_run(unsigned threads, const std::function<void(unsigned thread, const std::stop_token& stop)>& work,
                 const std::atomic<std::uint64_t>& counter, const std::stop_token& parent);

/// Leaves only the first `seconds`; CPU time stays that of the whole run.
void cut(Timing& timing, double seconds);

/// The work of one thread while the clock runs.
using TimedWork = std::function<void(const std::stop_token& stop)>;

/// The same for work that needs preparation: each thread calls `prepare(thread)`, and the clock starts when all have.
/// The work object is destroyed by its thread, after the clock has stopped.
Timing timed_run_prepared(unsigned threads, const std::function<TimedWork(unsigned thread)>& prepare,
                          const std::atomic<std::uint64_t>& counter, const std::stop_token& parent);

/// False if the rate drifted by more than 10 % from start to end (stats/summary.hpp); empty for a run shorter than a
/// second, which is ten slices.
std::optional<bool> is_steady(const Timing& timing);

/// Processor time of the whole process so far, user and system.
double process_cpu_seconds();

/// The same of the calling thread.
std::chrono::nanoseconds thread_cpu_time();

/// 95 % interval of a rate's median over slices of a tenth of a second; empty for a run shorter than a second, which is
/// ten slices. Also empty if `rate`, the mean over the whole time, is outside: in a run that was fast at first and slow
/// later, it is far from the median of the slices.
std::optional<stats::Interval> rate_interval(const Timing& timing, double rate);

}  // namespace shardkit::bench
