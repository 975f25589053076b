#include "sync/bounded_queue.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using shardkit::sync::BoundedQueue;

namespace {

/// Lets a thread that is about to wait do so. Too short a time makes a test weaker, never wrong.
void give_time_to_wait() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

}  // namespace

TEST_CASE("items leave in the order they came") {
  BoundedQueue<int> queue(3);
  for (const int item : {1, 2, 3}) CHECK(queue.push(item, 1, {}));
  CHECK(queue.pop({}) == 1);
  CHECK(queue.pop({}) == 2);
  CHECK(queue.pop({}) == 3);
}

TEST_CASE("a full queue makes the producer wait until an item leaves") {
  BoundedQueue<int> queue(100);
  REQUIRE(queue.push(1, 60, {}));
  std::atomic<bool> entered = false;
  std::jthread producer([&] { entered = queue.push(2, 60, {}); });
  give_time_to_wait();
  CHECK_FALSE(entered);
  CHECK(queue.pop({}) == 1);
  CHECK(queue.pop({}) == 2);
  producer.join();
  CHECK(entered);
}

TEST_CASE("items of different cost fill the capacity exactly") {
  BoundedQueue<int> queue(100);
  CHECK(queue.push(1, 60, {}));
  CHECK(queue.push(2, 40, {}));
  CHECK(queue.push(3, 0, {}));
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(queue.push(4, 1, stop.get_token()));
}

TEST_CASE("an item dearer than the whole capacity enters an empty queue, and nothing enters beside it") {
  BoundedQueue<int> queue(10);
  CHECK(queue.push(1, 1000, {}));
  std::atomic<bool> entered = false;
  std::jthread producer([&] { entered = queue.push(2, 1, {}); });
  give_time_to_wait();
  CHECK_FALSE(entered);
  CHECK(queue.pop({}) == 1);
  CHECK(queue.pop({}) == 2);
}

TEST_CASE("after close nothing enters, and what is there still leaves") {
  BoundedQueue<int> queue(10);
  CHECK(queue.push(1, 1, {}));
  queue.close();
  CHECK_FALSE(queue.push(2, 1, {}));
  CHECK(queue.pop({}) == 1);
  CHECK_FALSE(queue.pop({}));
}

TEST_CASE("close wakes producers and consumers that wait") {
  BoundedQueue<int> empty(1);
  BoundedQueue<int> full(1);
  REQUIRE(full.push(1, 1, {}));
  std::atomic<bool> popped = true;
  std::atomic<bool> pushed = true;
  std::jthread consumer([&] { popped = empty.pop({}).has_value(); });
  std::jthread producer([&] { pushed = full.push(2, 1, {}); });
  give_time_to_wait();
  empty.close();
  full.close();
  consumer.join();
  producer.join();
  CHECK_FALSE(popped);
  CHECK_FALSE(pushed);
}

TEST_CASE("a stop wakes producers and consumers that wait, and later calls do not wait") {
  BoundedQueue<int> empty(1);
  BoundedQueue<int> full(1);
  REQUIRE(full.push(1, 1, {}));
  std::stop_source stop;
  std::atomic<bool> popped = true;
  std::atomic<bool> pushed = true;
  std::jthread consumer([&] { popped = empty.pop(stop.get_token()).has_value(); });
  std::jthread producer([&] { pushed = full.push(2, 1, stop.get_token()); });
  give_time_to_wait();
  stop.request_stop();
  consumer.join();
  producer.join();
  CHECK_FALSE(popped);
  CHECK_FALSE(pushed);
  CHECK_FALSE(full.pop(stop.get_token()));
}

TEST_CASE("room for several small items wakes as many producers") {
  BoundedQueue<int> queue(4);
  REQUIRE(queue.push(0, 4, {}));
  std::vector<std::jthread> producers;
  for (int i = 1; i <= 4; ++i) producers.emplace_back([&queue, i] { queue.push(i, 1, {}); });
  give_time_to_wait();
  CHECK(queue.pop({}) == 0);
  producers.clear();  // joins: all four are in
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += *queue.pop({});
  CHECK(sum == 1 + 2 + 3 + 4);
}

TEST_CASE("a waiter that is stopped does not keep others asleep") {
  BoundedQueue<int> queue(1);
  std::stop_source stop;
  std::atomic<int> got = 0;
  std::jthread stopped([&] { queue.pop(stop.get_token()); });
  std::jthread other([&] { got = queue.pop({}).value_or(0); });
  give_time_to_wait();
  stop.request_stop();
  stopped.join();
  REQUIRE(queue.push(7, 1, {}));
  other.join();
  CHECK(got == 7);
}

TEST_CASE("items that only move may pass") {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  CHECK(queue.push(std::make_unique<int>(5), 1, {}));
  CHECK(**queue.pop({}) == 5);
}

TEST_CASE("many producers and consumers lose and double nothing") {
  constexpr int kEach = 2000;
  constexpr int kProducers = 4;
  BoundedQueue<int> queue(7);
  std::atomic<long> sum = 0;
  std::atomic<int> count = 0;
  {
    std::vector<std::jthread> consumers;
    for (int c = 0; c < 3; ++c) {
      consumers.emplace_back([&] {
        while (const auto item = queue.pop({})) {
          sum += *item;
          ++count;
        }
      });
    }
    {
      std::vector<std::jthread> producers;
      for (int p = 0; p < kProducers; ++p) {
        producers.emplace_back([&, p] {
          for (int i = 0; i < kEach; ++i) queue.push(p * kEach + i, 1 + static_cast<std::uint64_t>(i % 5), {});
        });
      }
    }
    queue.close();
  }
  constexpr long kAll = kProducers * kEach;
  CHECK(count == kAll);
  CHECK(sum == kAll * (kAll - 1) / 2);
}
