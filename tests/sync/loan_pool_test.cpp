#include "sync/loan_pool.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace shardkit;
using namespace shardkit::sync;

TEST_CASE("no object serves two threads at a time, and no more are lent than there are") {
  struct Tool {
    std::atomic<int> users{0};
  };
  LoanPool<Tool> pool(2, [] { return std::make_unique<Tool>(); });
  std::atomic<int> lent{0};
  std::atomic<int> most{0};
  std::atomic<bool> shared{false};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const auto loan = pool.borrow();
        if (++loan->users != 1) shared = true;
        const int now = ++lent;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        --lent;
        --loan->users;
      }
    });
  }
  threads.clear();
  CHECK(!shared);
  CHECK(most <= 2);
}

TEST_CASE("an object comes back when its borrower throws") {
  LoanPool<int> pool(1, [] { return std::make_unique<int>(7); });
  try {
    const auto loan = pool.borrow();
    throw 1;
  } catch (int) {
  }
  CHECK(*pool.borrow() == 7);
}
