#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace shardkit::sync {

/// Threads that live and fail together. The first exception stops the siblings (through their stop token) and is
/// rethrown by wait(). A stop of the parent token reaches every task.
///
/// spawn() may be called from any thread, also from a task; wait() from the owner alone. The destructor stops and
/// joins without rethrowing.
class TaskGroup {
 public:
  using Task = std::function<void(std::stop_token)>;

  explicit TaskGroup(std::stop_token parent = {});
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Starts one thread that runs `task`. Tasks wait only on what the token they are given can interrupt.
  void spawn(Task task);

  /// Joins every task, those spawned meanwhile too, then rethrows the first exception if there was one.
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

/// Calls `work(index, thread)` for each index below `count`, by at most `threads` threads that each take the next one.
/// The first exception ends it and is rethrown; throws Error{cancelled} once `stop` was requested.
void for_each_index(std::size_t count, std::size_t threads, const std::stop_token& stop,
                    const std::function<void(std::size_t index, std::size_t thread)>& work);

}  // namespace shardkit::sync
