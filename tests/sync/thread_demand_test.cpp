#include <doctest/doctest.h>

#include "sync/latency_pool.hpp"

using namespace shardkit;
using namespace shardkit::sync;

namespace {

/// Threads after `steps` equal steps, each with the number that the step before asked for.
unsigned threads_after(ThreadDemand& need, int steps, std::int64_t cpu_ns, std::int64_t waited_ns, unsigned threads) {
  for (int step = 0; step < steps; ++step) threads = need.after_step(cpu_ns, waited_ns, threads);
  return threads;
}

}  // namespace

TEST_CASE("steps that only compute need a thread per core") {
  ThreadDemand need(2);
  CHECK(threads_after(need, 1000, 100'000, 0, 1) == 2);
}

TEST_CASE("steps that wait need cores * (cpu + wait) / cpu threads") {
  ThreadDemand need(2);
  CHECK(threads_after(need, 1000, 100'000, 900'000, 1) == 20);
}

TEST_CASE("the number at most doubles with each step") {
  ThreadDemand need(2);
  CHECK(need.after_step(1'000, 1'000'000'000, 8) == 16);
  CHECK(need.after_step(1'000, 1'000'000'000, 16) == 32);
}

TEST_CASE("a number once reached is kept") {
  ThreadDemand need(2);
  CHECK(threads_after(need, 1000, 100'000, 0, 40) == 40);
}

TEST_CASE("a source that becomes slow gets its threads within some dozens of steps") {
  ThreadDemand need(2);
  const unsigned fast = threads_after(need, 1000, 100'000, 0, 8);
  CHECK(fast == 8);
  CHECK(threads_after(need, 100, 100'000, 9'900'000, fast) > 180);
}

TEST_CASE("steps whose clock did not move are no division by zero") {
  ThreadDemand need(4);
  CHECK(need.after_step(0, 0, 8) == 8);
}
