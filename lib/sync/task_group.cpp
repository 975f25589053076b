#include "sync/task_group.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/error.hpp"

namespace shardkit::sync {

TaskGroup::TaskGroup(std::stop_token parent) : parent_link_(std::move(parent), [this] { stop_.request_stop(); }) {}

TaskGroup::~TaskGroup() {
  stop_.request_stop();
  join_all();
}

void TaskGroup::spawn(Task task) {
  const std::scoped_lock lock(mutex_);
  threads_.emplace_back([this, task = std::move(task)] {
    try {
      task(stop_.get_token());
    } catch (...) {
      {
        const std::scoped_lock failed(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
      stop_.request_stop();
    }
  });
}

void TaskGroup::wait() {
  join_all();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void TaskGroup::join_all() {
  while (true) {
    std::vector<std::jthread> batch;
    {
      const std::scoped_lock lock(mutex_);
      batch.swap(threads_);
    }
    if (batch.empty()) return;
    batch.clear();  // jthread joins in its destructor
  }
}

void for_each_index(std::size_t count, std::size_t threads, const std::stop_token& stop,
                    const std::function<void(std::size_t index, std::size_t thread)>& work) {
  std::atomic<std::size_t> next{0};
  TaskGroup group(stop);
  for (std::size_t thread = 0; thread < std::min(threads, count); ++thread) {
    group.spawn([&, thread](const std::stop_token& ending) {
      for (std::size_t index = next++; index < count && !ending.stop_requested(); index = next++) work(index, thread);
    });
  }
  group.wait();
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped");
}

}  // namespace shardkit::sync
