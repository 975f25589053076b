#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <semaphore>
#include <stop_token>
#include <thread>

namespace shardkit::cli {

/// While it exists, SIGINT, SIGTERM and (unless it was ignored) SIGHUP set the stop source instead of ending the
/// process. If it still exists 1.8 s after the first signal, or at another one that comes later than a second after it,
/// it calls `last_words` and ends the process with 128 + signal. (Schedulers and terminals often send a signal twice.)
///
/// Create it before any other thread: it blocks these signals in the calling thread, and new threads inherit that.
class SignalWatch {
 public:
  /// Prints the last message; on a thread of the watch, while the command's threads may do anything.
  using LastWords = std::function<void(int signal)>;

  SignalWatch(std::stop_source stop, LastWords last_words);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// The received signal, 0 if there was none.
  int signal() const { return signal_.load(); }

 private:
  enum class Wake { signal, end, timeout };

  void watch();
  /// Requests the stop on a thread of its own: a stop callback of the command may hang, and the deadline must still
  /// hold.
  void stop_when_woken();
  void end_threads();
  /// The first of: a signal, the end of this watch, `timeout_ms` passing (-1: never).
  Wake wait(int timeout_ms) const;
  [[noreturn]] void end_process() const;

  std::stop_source stop_;
  LastWords last_words_;
  std::atomic<int> signal_{0};
  sigset_t before_{};
  int signals_ = -1;  ///< signalfd
  int end_ = -1;      ///< eventfd, readable when the watch has ended
  std::counting_semaphore<2> wake_stopper_{0};
  std::jthread stopper_;  ///< exists before a signal, because later the system may refuse another thread
  std::jthread thread_;
};

}  // namespace shardkit::cli
