#include "sync/task_group.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"

using shardkit::sync::TaskGroup;

namespace {

/// Returns once the token fires.
void wait_for(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait(lock, stop, [] { return false; });
}

}  // namespace

TEST_CASE("wait returns when every task is done") {
  std::atomic<int> done = 0;
  TaskGroup group;
  for (int i = 0; i < 8; ++i) group.spawn([&](const std::stop_token&) { ++done; });
  group.wait();
  CHECK(done == 8);
}

TEST_CASE("the first exception stops the siblings and is what wait throws") {
  std::atomic<int> stopped = 0;
  TaskGroup group;
  for (int i = 0; i < 3; ++i) {
    group.spawn([&](const std::stop_token& stop) {
      wait_for(stop);
      ++stopped;
      throw std::logic_error("a consequence");
    });
  }
  group.spawn([](const std::stop_token&) { throw std::runtime_error("the cause"); });
  CHECK_THROWS_WITH_AS(group.wait(), "the cause", std::runtime_error);
  CHECK(stopped == 3);
  CHECK_NOTHROW(group.wait());
}

TEST_CASE("a stop of the parent reaches every task") {
  std::stop_source parent;
  TaskGroup group(parent.get_token());
  for (int i = 0; i < 3; ++i) group.spawn(wait_for);
  parent.request_stop();
  CHECK_NOTHROW(group.wait());
  CHECK(group.stop_token().stop_requested());
}

TEST_CASE("a parent that has stopped already stops the group at once") {
  std::stop_source parent;
  parent.request_stop();
  TaskGroup group(parent.get_token());
  group.spawn(wait_for);
  group.wait();
  CHECK(group.stop_token().stop_requested());
}

TEST_CASE("a failure in a group does not stop its parent") {
  std::stop_source parent;
  TaskGroup group(parent.get_token());
  group.spawn([](const std::stop_token&) { throw std::runtime_error("mine alone"); });
  CHECK_THROWS(group.wait());
  CHECK_FALSE(parent.stop_requested());
}

TEST_CASE("tasks may spawn tasks, and wait covers them") {
  std::atomic<int> done = 0;
  TaskGroup group;
  group.spawn([&](const std::stop_token&) {
    for (int i = 0; i < 4; ++i) {
      group.spawn([&](const std::stop_token&) {
        group.spawn([&](const std::stop_token&) { ++done; });
        ++done;
      });
    }
  });
  group.wait();
  CHECK(done == 8);
}

TEST_CASE("the destructor stops and joins what still runs") {
  std::atomic<bool> ended = false;
  {
    TaskGroup group;
    group.spawn([&](const std::stop_token& stop) {
      wait_for(stop);
      ended = true;
    });
  }
  CHECK(ended);
}

TEST_CASE("request_stop ends tasks without an error") {
  TaskGroup group;
  group.spawn(wait_for);
  group.request_stop();
  CHECK_NOTHROW(group.wait());
}

TEST_CASE("for_each_index works on every index once") {
  std::vector<std::atomic<int>> calls(100);
  std::atomic<bool> inside = true;
  shardkit::sync::for_each_index(calls.size(), 3, {}, [&](std::size_t index, std::size_t thread) {
    ++calls[index];
    if (thread >= 3) inside = false;
  });
  for (const std::atomic<int>& count : calls) CHECK(count == 1);
  CHECK(inside);
}

TEST_CASE("for_each_index takes no index after a failure or a stop") {
  std::atomic<std::size_t> calls = 0;
  const auto fail_at_once = [&](std::size_t, std::size_t) {
    ++calls;
    throw std::runtime_error("broken");
  };
  CHECK_THROWS_WITH(shardkit::sync::for_each_index(1000, 1, {}, fail_at_once), "broken");
  CHECK(calls == 1);

  std::stop_source stop;
  stop.request_stop();
  CHECK_THROWS_AS(shardkit::sync::for_each_index(1000, 2, stop.get_token(), fail_at_once), shardkit::Error);
  CHECK(calls == 1);
}
