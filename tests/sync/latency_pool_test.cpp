#include "sync/latency_pool.hpp"

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>
#include <time.h>

using namespace shardkit;
using namespace shardkit::sync;

namespace {

/// Hands out `count` units.
struct Work {
  explicit Work(int count) : left(count) {}
  bool take() { return left.fetch_sub(1) > 0; }
  std::atomic<int> left;
};

std::int64_t cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

TEST_CASE("every unit is done once, whatever the number of threads") {
  Work work(10'000);
  std::atomic<int> done{0};
  LatencyPool workers({2, 8, 64}, {});
  workers.run([&](WaitMeter&, const std::stop_token&) {
    if (!work.take()) return false;
    ++done;
    return true;
  });
  CHECK(done == 10'000);
}

TEST_CASE("steps that wait get more threads, up to the maximum") {
  Work work(200);
  LatencyPool workers({1, 2, 8}, {});
  workers.run([&](WaitMeter& meter, const std::stop_token&) {
    if (!work.take()) return false;
    const WaitMeter::Scope waiting(meter);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return true;
  });
  CHECK(workers.in_flight() == 8);
}

TEST_CASE("a meter counts a sleep in a scope, once") {
  WaitMeter meter;
  {
    const WaitMeter::Scope waiting(meter);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(meter.take_waited_ns() >= 4'900'000);
  CHECK(meter.take_waited_ns() == 0);
}

TEST_CASE("a meter does not count time on a core") {
  WaitMeter meter;
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t cpu_start = cpu_ns();
  {
    const WaitMeter::Scope reading(meter);
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < 10'000'000; ++i) sum = sum + i;
  }
  const std::int64_t computed = cpu_ns() - cpu_start;
  const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - start;
  CHECK(meter.take_waited_ns() <= passed.count() - computed);
}

TEST_CASE("waiting outside of a scope is no reason for more threads") {
  Work work(50);
  LatencyPool workers({1, 2, 64}, {});
  workers.run([&](WaitMeter&, const std::stop_token&) {
    if (!work.take()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return true;
  });
  CHECK(workers.in_flight() == 2);
}

TEST_CASE("the first exception stops all and reaches the caller") {
  std::atomic<int> steps{0};
  LatencyPool workers({2, 8, 64}, {});
  CHECK_THROWS_WITH_AS(workers.run([&](WaitMeter&, const std::stop_token&) -> bool {
    if (++steps == 100) throw std::runtime_error("broken");
    return true;
  }),
                       "broken", std::runtime_error);
}

TEST_CASE("a stop of the parent ends the run") {
  std::stop_source stop;
  LatencyPool workers({2, 4, 64}, stop.get_token());
  std::atomic<int> steps{0};
  workers.run([&](WaitMeter&, const std::stop_token&) {
    if (++steps == 50) stop.request_stop();
    return true;
  });
  CHECK(steps >= 50);
}
