#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/fields.hpp"

namespace shardkit::bench {

/// Waits until `moment` to within some microseconds: asleep for as long as the kernel's timers are exact enough, then
/// spinning for at most 0.1 ms. Ends early, with false, when the stop comes.
bool wait_until(std::chrono::steady_clock::time_point moment, const std::stop_token& stop);

/// The moment `seconds` from now; absurdly many count as years.
std::chrono::steady_clock::time_point moment_in(double seconds);

/// Seconds of waiting that nobody feels: 2 % of the shortest steps that train on images, 50 ms (docs/comparing.md).
inline constexpr double kUnfeltWait = 0.001;

/// What a timed run took.
struct Timing {
  double seconds = 0;
  double cpu_seconds = 0;     ///< of the whole process, user and system
  std::vector<double> rates;  ///< of the counter per second, over slices of equal length; the last, cut one is left out
};

/// Runs `work(thread)` on `threads` threads at once and watches `counter`, which they raise. Returns when all are done;
/// rethrows their first exception. `work` is given a token that fires when a sibling fails or `parent` does.
Timing timed_run(unsigned threads, const std::function<void(unsigned thread, const std::stop_token& stop)>& work,
                 const std::atomic<std::uint64_t>& counter, const std::stop_token& parent);

/// What one thread does while the clock runs.
using TimedWork = std::function<void(const std::stop_token& stop)>;

/// The same for work that needs something of its own: each thread calls `prepare(thread)` and the clock starts when all
/// have. What the work holds ends with its thread, after the clock has stopped.
Timing timed_run_prepared(unsigned threads, const std::function<TimedWork(unsigned thread)>& prepare,
                          const std::atomic<std::uint64_t>& counter, const std::stop_token& parent);

/// False when the rate drifted by more than a tenth from start to end (stats/steadiness.hpp); empty, as nobody can
/// tell, of a run shorter than a second, which is ten slices.
std::optional<bool> is_steady(const Timing& timing);

/// Of several runs together: true when all were steady, false when one was not; else not known.
std::optional<bool> are_steady(std::optional<bool> some, std::optional<bool> others);

/// A rate's median over slices of a tenth of a second holds with 95 % between these.
struct RateInterval {
  double low = 0;
  double high = 0;
  void describe(FieldVisitor& v) {
    v.field({"low", "lower end"}, low);
    v.field({"high", "upper end"}, high);
  }
};

/// Processor time of the whole process so far, user and system.
double process_cpu_seconds();

/// The interval of `rate`, which is what was done over the whole time; empty for a run shorter than a second, which is
/// ten slices. Empty also where the rate lies outside: that of a run that was fast for a part and slow for another is
/// far from the slices' median, of which the interval is.
std::optional<RateInterval> rate_interval(const Timing& timing, double rate);

}  // namespace shardkit::bench
