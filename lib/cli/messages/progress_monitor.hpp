#pragma once

#include <condition_variable>
#include <iosfwd>
#include <mutex>
#include <thread>

#include "cli/messages/progress_line.hpp"

namespace shardkit {

/// Shows a command's progress on a stream from a thread of its own, until destroyed; then the bar is gone. Nobody
/// else writes to the stream meanwhile.
class ProgressMonitor {
 public:
  ProgressMonitor(const Progress& progress, std::ostream& out, ProgressLine::Style style);
  ~ProgressMonitor();
  ProgressMonitor(const ProgressMonitor&) = delete;
  ProgressMonitor& operator=(const ProgressMonitor&) = delete;

 private:
  void show(const std::stop_token& stop);

  const Progress& progress_;
  std::ostream& out_;
  ProgressLine line_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  ///< last: starts when all else is ready
};

}  // namespace shardkit
