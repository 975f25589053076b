#include "bench/timing/timed_run.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <thread>
#include <utility>

#include <sys/resource.h>
#include <time.h>

#include "sync/task_group.hpp"

namespace shardkit::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// A wait for a condition can be stopped but wakes late by a scheduler's tick; the last stretch is slept without it.
constexpr std::chrono::milliseconds kUnstoppable{10};
constexpr std::chrono::microseconds kSpin{100};

constexpr std::chrono::milliseconds kSlice{100};
/// A second. Fewer show no trend, and their interval is their range, or nearly so.
constexpr std::size_t kLeastSlices = 10;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// Notes the counter's rate slice by slice until stop() is called.
void watch(const std::atomic<std::uint64_t>& counter, const std::stop_token& stop, std::vector<double>& rates) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  Clock::time_point last = Clock::now();
  std::uint64_t seen = counter.load(std::memory_order_relaxed);
  for (Clock::time_point next = last + kSlice;; next += kSlice) {
    never.wait_until(lock, stop, next, [] { return false; });
    if (stop.stop_requested()) return;
    const Clock::time_point now = Clock::now();
    const std::uint64_t count = counter.load(std::memory_order_relaxed);
    rates.push_back(static_cast<double>(count - seen) / std::chrono::duration<double>(now - last).count());
    last = now;
    seen = count;
  }
}

/// Counts a latch down once: on request, or on an exception, so that no thread waits for ever.
class CountDown {
 public:
  explicit CountDown(std::latch& latch) : latch_(&latch) {}
  ~CountDown() { now(); }
  CountDown(const CountDown&) = delete;
  CountDown& operator=(const CountDown&) = delete;

  void now() {
    if (latch_ != nullptr) std::exchange(latch_, nullptr)->count_down();
  }

 private:
  std::latch* latch_;
};

/// The point at which threads wait for each other and for the clock.
struct Lines {
  std::latch prepared;
  std::latch started{1};
  std::latch finished;

  void pass(unsigned thread, const std::function<TimedWork(unsigned)>& prepare, const std::stop_token& stop) {
    CountDown is_prepared(prepared);
    CountDown is_finished(finished);
    const TimedWork work = prepare(thread);
    is_prepared.now();
    started.wait();
    work(stop);
    is_finished.now();
  }
};

}  // namespace

bool wait_until(Clock::time_point moment, const std::stop_token& stop) {
  if (moment - Clock::now() > kUnstoppable) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_until(lock, stop, moment - kUnstoppable, [] { return false; });
  }
  if (stop.stop_requested()) return false;
  std::this_thread::sleep_until(moment - kSpin);
  while (Clock::now() < moment) {
  }
  return !stop.stop_requested();
}

double process_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

std::chrono::nanoseconds thread_cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Clock::time_point moment_in(double seconds) {
  constexpr double kYears = 1e8;
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, kYears)));
}

bool is_over(const Deadline& deadline) { return deadline && Clock::now() >= *deadline; }

double seconds_until(Clock::time_point moment) { return std::chrono::duration<double>(moment - Clock::now()).count(); }

void cut(Timing& timing, double seconds) {
  if (timing.seconds <= seconds) return;
  timing.seconds = seconds;
  const auto slices = static_cast<std::size_t>(seconds / std::chrono::duration<double>(kSlice).count());
  timing.rates.resize(std::min(timing.rates.size(), slices));
}

Timing timed_run(unsigned threads, const std::function<void(unsigned thread, const std::stop_token& stop)>& work,
                 const std::atomic<std::uint64_t>& counter, const std::stop_token& parent) {
  const auto prepare = [&work](unsigned thread) -> TimedWork {
    return [&work, thread](const std::stop_token& stop) { work(thread, stop); };
  };
  return timed_run_prepared(threads, prepare, counter, parent);
}

Timing timed_run_prepared(unsigned threads, const std::function<TimedWork(unsigned thread)>& prepare,
                          const std::atomic<std::uint64_t>& counter, const std::stop_token& parent) {
  Timing timing;
  Lines lines{std::latch(threads), std::latch(1), std::latch(threads)};
  sync::TaskGroup group(parent);
  CountDown start(lines.started);  // also if a thread cannot be started: the others continue, are stopped and end
  for (unsigned thread = 0; thread < threads; ++thread) {
    group.spawn([&, thread](const std::stop_token& stop) { lines.pass(thread, prepare, stop); });
  }
  lines.prepared.wait();
  const double cpu_before = process_cpu_seconds();
  const Clock::time_point begin = Clock::now();
  {
    std::jthread watcher([&](const std::stop_token& stop) { watch(counter, stop, timing.rates); });
    start.now();
    lines.finished.wait();
    timing.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    timing.cpu_seconds = process_cpu_seconds() - cpu_before;
  }
  group.wait();
  return timing;
}

std::optional<bool> is_steady(const Timing& timing) {
  if (timing.rates.size() < kLeastSlices) return std::nullopt;
  return std::abs(stats::relative_drift(timing.rates)) <= stats::kSteadyDrift;
}

std::optional<stats::Interval> rate_interval(const Timing& timing, double rate) {
  if (timing.rates.size() < kLeastSlices) return std::nullopt;
  const stats::Summary summary = stats::summarize(timing.rates);
  if (rate < summary.low || rate > summary.high) return std::nullopt;
  return summary.interval();
}

}  // namespace shardkit::bench
