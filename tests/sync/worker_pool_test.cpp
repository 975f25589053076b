#include "sync/worker_pool.hpp"

#include <atomic>
#include <stdexcept>

#include <doctest/doctest.h>

using namespace shardkit;
using namespace shardkit::sync;

namespace {

/// A worker that takes units until there are none.
WorkerPool::Step taking(std::atomic<int>& left) {
  return [&](const std::stop_token&) { return --left >= 0; };
}

}  // namespace

TEST_CASE("all units are done, by as many workers as there are to start with") {
  std::atomic<int> left{1000};
  std::atomic<int> made{0};
  WorkerPool workers(3, 8, {});
  workers.run([&] {
    ++made;
    return taking(left);
  });
  CHECK(left < 0);
  CHECK(made >= 1);
  CHECK(made <= 3);
}

TEST_CASE("the first failure stops all and is reported") {
  std::atomic<int> calls{0};
  WorkerPool workers(4, 4, {});
  const auto fail = [&] {
    return [&](const std::stop_token&) -> bool {
      if (++calls == 10) throw std::runtime_error("broken");
      return true;
    };
  };
  CHECK_THROWS_WITH(workers.run(fail), "broken");
}

TEST_CASE("a stop ends the work") {
  std::stop_source stop;
  std::atomic<int> calls{0};
  WorkerPool workers(2, 2, stop.get_token());
  workers.run([&] {
    return [&](const std::stop_token&) {
      if (++calls == 5) stop.request_stop();
      return true;
    };
  });
  CHECK(calls >= 5);
}

TEST_CASE("a pool whose level sinks works with fewer threads, and ends all the same") {
  std::atomic<int> units{0};
  WorkerPool workers(8, 8, {});
  workers.run([&] {
    return [&](const std::stop_token& stop) {
      workers.set_level(0);  // is one
      return ++units < 100 && !stop.stop_requested();
    };
  });
  CHECK(workers.level() == 1);
  CHECK(units >= 100);
  CHECK(units < 108);
}

TEST_CASE("a level above the maximum is the maximum") {
  WorkerPool workers(1, 3, {});
  std::atomic<int> made{0};
  workers.run([&] {
    ++made;
    return [&](const std::stop_token&) {
      workers.set_level(9);
      return made < 3;
    };
  });
  CHECK(workers.level() == 3);
}
