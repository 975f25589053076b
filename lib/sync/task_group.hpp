#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace shardkit::sync {

/// Threads that end together. The first exception stops the others (through their stop token) and is rethrown by
/// wait(). A stop of the parent token reaches every task.
///
/// spawn() may be called from any thread, also from a task; wait() only from the owner. The destructor stops and joins
/// without rethrowing.
class TaskGroup {
 public:
  using Task = std::function<void(std::stop_token)>;

  explicit TaskGroup(std::stop_token parent = {});
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Starts one thread that runs `task`. All waits of tasks must be interruptible by their token.
  void spawn(Task task);

  /// Joins every task, including those spawned meanwhile, then rethrows the first exception, if any.
  void wait();

  /// Asks every task to end.
  void request_stop() { stop_.request_stop(); }
  std::stop_token stop_token() const { return stop_.get_token(); }

 private:
  void join_all();

  std::stop_source stop_;
  std::stop_callback<std::function<void()>> parent_link_;
  std::mutex mutex_;
  std::vector<std::jthread> threads_;
  std::exception_ptr failure_;
};

/// Calls `work(index, thread)` for each index below `count`, on at most `threads` threads that each take the next one.
/// The first exception ends it and is rethrown; throws Error{cancelled} after a stop.
void for_each_index(std::size_t count, std::size_t threads, const std::stop_token& stop,
                    const std::function<void(std::size_t index, std::size_t thread)>& work);

}  // namespace shardkit::sync
