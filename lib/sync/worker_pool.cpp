#include "sync/worker_pool.hpp"

#include <system_error>

namespace shardkit::sync {

void WorkerPool::run(const std::function<Step()>& make_step) {
  TaskGroup group(parent_);
  {
    const std::scoped_lock lock(mutex_);
    group_ = &group;
    make_step_ = &make_step;
    finished_ = false;
    threads_ = 0;
    add_threads();
  }
  // Also after an exception: set_level() begins no thread of a group that has ended.
  struct End {
    WorkerPool& pool;
    ~End() {
      const std::scoped_lock lock(pool.mutex_);
      pool.finished_ = true;
    }
  } const end{*this};
  group.wait();
}

void WorkerPool::set_level(unsigned level) {
  const std::scoped_lock lock(mutex_);
  level_ = std::clamp(level, 1U, maximum_);
  if (!finished_) add_threads();
  turn_.notify_all();
}

/// If the system refuses another thread (a pids limit), the existing ones do the work. Called with the lock held.
void WorkerPool::add_threads() {
  try {
    for (; threads_ < level_; ++threads_) {
      group_->spawn([this, number = threads_](const std::stop_token& stop) { work(number, stop); });
    }
  } catch (const std::system_error&) {
    if (threads_ == 0) throw;
  }
}

void WorkerPool::work(unsigned number, const std::stop_token& stop) {
  const Step step = (*make_step_)();
  while (wait_for_turn(number, stop)) {
    if (step(stop)) continue;
    const std::scoped_lock lock(mutex_);
    finished_ = true;
    turn_.notify_all();
  }
}

/// False when the work is done or to be left. Without a lock for a thread that need not wait: steps may be short.
bool WorkerPool::wait_for_turn(unsigned number, const std::stop_token& stop) {
  if (number >= level_ && !finished_) {
    std::unique_lock lock(mutex_);
    turn_.wait(lock, stop, [&] { return finished_ || number < level_; });
  }
  return !finished_ && !stop.stop_requested();
}

}  // namespace shardkit::sync
