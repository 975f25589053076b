#include "sync/climbing_workers.hpp"

#include <atomic>
#include <stdexcept>

#include <doctest/doctest.h>

using namespace shardkit;
using namespace shardkit::sync;

namespace {

/// A worker that takes units until there are none.
ClimbingWorkers::Step taking(std::atomic<int>& left) {
  return [&](const std::stop_token&) { return --left >= 0; };
}

}  // namespace

TEST_CASE("all units are done, by as many workers as there are to start with") {
  std::atomic<int> left{1000};
  std::atomic<int> made{0};
  ClimbingWorkers workers(3, 8, {});
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
  ClimbingWorkers workers(4, 4, {});
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
  ClimbingWorkers workers(2, 2, stop.get_token());
  workers.run([&] {
    return [&](const std::stop_token&) {
      if (++calls == 5) stop.request_stop();
      return true;
    };
  });
  CHECK(calls >= 5);
}

TEST_CASE("who is asked for fewer requests works with fewer, and ends all the same") {
  std::atomic<int> units{0};
  ClimbingWorkers workers(8, 8, {});
  workers.run([&] {
    return [&](const std::stop_token& stop) {
      workers.throttled();
      workers.moved(1);
      if (workers.level() == 1 || stop.stop_requested()) return false;
      ++units;
      return true;
    };
  });
  CHECK(workers.level() == 1);
}
