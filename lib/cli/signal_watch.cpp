#include "cli/signal_watch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/error.hpp"

namespace shardkit::cli {
namespace {

constexpr int kGraceMs = 1800;       // the promise is 2 s
constexpr int kSameSignalMs = 1000;  // until then, another signal is the same one

/// The terminal's end as well, unless the user had it ignored (nohup).
bool heeds_hangup() {
  struct sigaction action {};
  return ::sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler != SIG_IGN;
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  if (heeds_hangup()) sigaddset(&set, SIGHUP);
  return set;
}

int checked(int fd, std::string_view action) {
  if (fd < 0) throw system_error(errno, action, "signals");
  return fd;
}

}  // namespace

SignalWatch::SignalWatch(std::stop_source stop, LastWords last_words)
    : stop_(std::move(stop)), last_words_(std::move(last_words)) {
  const sigset_t set = stop_signals();
  signals_ = checked(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "watch");
  end_ = checked(eventfd(0, EFD_CLOEXEC), "watch");
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  try {
    thread_ = std::jthread([this] { watch(); });
    stopper_ = std::jthread([this] { stop_when_woken(); });
  } catch (...) {
    end_threads();
    throw;
  }
}

SignalWatch::~SignalWatch() { end_threads(); }

void SignalWatch::end_threads() {
  wake_stopper_.release();
  if (stopper_.joinable()) stopper_.join();  // while the deadline still holds
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(end_, &one, sizeof one);
  if (thread_.joinable()) thread_.join();
  close(signals_);
  close(end_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

SignalWatch::Wake SignalWatch::wait(int timeout_ms) const {
  std::array<pollfd, 2> fds{pollfd{signals_, POLLIN, 0}, pollfd{end_, POLLIN, 0}};
  while (poll(fds.data(), fds.size(), timeout_ms) < 0 && errno == EINTR) {
  }
  if ((fds[1].revents & POLLIN) != 0) return Wake::end;
  return (fds[0].revents & POLLIN) != 0 ? Wake::signal : Wake::timeout;
}

void SignalWatch::watch() {
  if (wait(-1) != Wake::signal) return;
  signalfd_siginfo info{};
  if (read(signals_, &info, sizeof info) != sizeof info) return;
  signal_.store(static_cast<int>(info.ssi_signo));
  wake_stopper_.release();
  const auto start = std::chrono::steady_clock::now();
  const auto passed_ms = [&] {
    const auto passed = std::chrono::steady_clock::now() - start;
    return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(passed).count());
  };
  while (true) {
    const Wake wake = wait(std::max(0, kGraceMs - passed_ms()));
    if (wake == Wake::end) return;
    if (wake == Wake::timeout || passed_ms() >= kSameSignalMs) end_process();
    [[maybe_unused]] const auto taken = read(signals_, &info, sizeof info);
  }
}

void SignalWatch::stop_when_woken() {
  wake_stopper_.acquire();
  if (signal_.load() != 0) stop_.request_stop();
}

void SignalWatch::end_process() const {
  try {
    last_words_(signal_.load());
  } catch (...) {  // out of memory: ending is more important than a message
  }
  _exit(128 + signal_.load());
}

}  // namespace shardkit::cli
