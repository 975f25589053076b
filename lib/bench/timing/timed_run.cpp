#include "bench/timing/timed_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <sys/resource.h>

#include "stats/steadiness.hpp"
#include "stats/summary.hpp"
#include "sync/task_group.hpp"

namespace shardkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSlice{100};

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// Notes the counter's rate slice by slice until it is asked to stop.
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

}  // namespace

double process_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

Clock::time_point moment_in(double seconds) {
  constexpr double kYears = 1e8;
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, kYears)));
}

Timing timed_run(unsigned threads, const std::function<void(unsigned thread, const std::stop_token& stop)>& work,
                 const std::atomic<std::uint64_t>& counter, const std::stop_token& parent) {
  Timing timing;
  const double cpu_before = process_cpu_seconds();
  const Clock::time_point begin = Clock::now();
  {
    std::jthread watcher([&](const std::stop_token& stop) { watch(counter, stop, timing.rates); });
    TaskGroup group(parent);
    for (unsigned thread = 0; thread < threads; ++thread) {
      group.spawn([&work, thread](const std::stop_token& stop) { work(thread, stop); });
    }
    group.wait();
    timing.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  timing.cpu_seconds = process_cpu_seconds() - cpu_before;
  return timing;
}

bool is_steady(const Timing& timing) { return std::abs(relative_drift(timing.rates)) <= kSteadyDrift; }

std::optional<RateInterval> rate_interval(const Timing& timing) {
  if (timing.rates.size() < 2) return std::nullopt;
  const Summary summary = summarize(timing.rates);
  return RateInterval{summary.low, summary.high};
}

}  // namespace shardkit
