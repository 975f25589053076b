#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iosfwd>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/context.hpp"

namespace shardkit::cli {

/// Progress at one moment.
struct ProgressSample {
  std::string phase;
  std::uint64_t items = 0;
  std::uint64_t items_total = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_total = 0;
  std::string noun = {};  ///< of the items
  double budget_seconds = 0;
  std::uint64_t starts = 0;
  unsigned stage = 0;
  unsigned stages = 0;
};

ProgressSample sample(const Progress& progress);

/// Turns samples into output. Time is passed in, in seconds from any fixed point, so that tests need not wait.
class ProgressLine {
 public:
  enum class Style { bar, plain, json };

  explicit ProgressLine(Style style) : style_(style) {}

  /// The text to print now; empty if it is not time yet or nothing is known. A bar is redrawn in place (it starts with
  /// a carriage return and has no newline) at most ten times per second; a text line ends with a newline and comes
  /// every 5 seconds, like a JSON line. A bar has at most `columns`, because a line that wraps cannot be redrawn: first
  /// the bar becomes shorter, then the text is cut.
  std::string update(const ProgressSample& now, double seconds, std::size_t columns = 80);

  /// Text that removes the bar from the screen; empty if there is none.
  std::string clear();

 private:
  struct Moment {
    double seconds = 0;
    ProgressSample sample;
  };

  bool due(const ProgressSample& now, double seconds) const;
  void remember(const ProgressSample& now, double seconds);
  /// The share of the phase that is done, by bytes, items or time; negative if unknown.
  double done_ratio(const ProgressSample& now, double seconds) const;
  /// Counts, rates and the remaining time.
  std::string numbers(const ProgressSample& now, double seconds) const;

  Style style_;
  std::optional<double> shown_at_;
  std::deque<Moment> recent_;  ///< the last seconds of this phase, from which rates are calculated
  double phase_start_ = 0;
  double first_ = -1;  ///< seconds at the first update; negative before
  bool bar_visible_ = false;
};

/// Shows a command's progress on a stream from its own thread, until destroyed; then the bar is removed. Other threads
/// write to the stream only with above().
class ProgressMonitor {
 public:
  /// `columns`: current width of the terminal.
  ProgressMonitor(const Progress& progress, std::ostream& out, ProgressLine::Style style,
                  std::function<std::size_t()> columns);
  ~ProgressMonitor();
  ProgressMonitor(const ProgressMonitor&) = delete;
  ProgressMonitor& operator=(const ProgressMonitor&) = delete;

  /// Writes whole lines, in place of the bar.
  void above(const std::string& lines);

 private:
  void show(const std::stop_token& stop);

  const Progress& progress_;
  std::ostream& out_;
  ProgressLine line_;
  std::function<std::size_t()> columns_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  ///< last: starts when everything else is ready
};

}  // namespace shardkit::cli
