#include "cli/messages/progress_monitor.hpp"

#include <chrono>
#include <ostream>

namespace shardkit {

ProgressMonitor::ProgressMonitor(const Progress& progress, std::ostream& out, ProgressLine::Style style)
    : progress_(progress), out_(out), line_(style), thread_([this](const std::stop_token& stop) { show(stop); }) {}

ProgressMonitor::~ProgressMonitor() {
  thread_.request_stop();
  thread_.join();
  out_ << line_.clear() << std::flush;
}

void ProgressMonitor::show(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, std::chrono::milliseconds(100), [&] { return stop.stop_requested(); })) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const std::string text = line_.update(sample(progress_), seconds);
    if (!text.empty()) out_ << text << std::flush;
  }
}

}  // namespace shardkit
