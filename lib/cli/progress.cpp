#include "cli/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "cli/field_text.hpp"
#include "cli/messages.hpp"
#include "core/units.hpp"

namespace shardkit::cli {

ProgressMonitor::ProgressMonitor(const Progress& progress, std::ostream& out, ProgressLine::Style style,
                                 std::function<std::size_t()> columns)
    : progress_(progress),
      out_(out),
      line_(style),
      columns_(std::move(columns)),
      thread_([this](const std::stop_token& stop) { show(stop); }) {}

ProgressMonitor::~ProgressMonitor() {
  thread_.request_stop();
  thread_.join();
  out_ << line_.clear() << std::flush;
}

void ProgressMonitor::above(const std::string& lines) {
  const std::scoped_lock lock(mutex_);
  out_ << line_.clear() << lines << std::flush;
}

void ProgressMonitor::show(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, std::chrono::milliseconds(100), [&] { return stop.stop_requested(); })) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const std::string text = line_.update(sample(progress_), seconds, columns_());
    if (!text.empty()) out_ << text << std::flush;
  }
}

namespace {

constexpr double kPlainInterval = 5.0;
constexpr double kBarInterval = 0.1;
constexpr double kTrustedAfter = 1.0;  // seconds of a phase before its rate is meaningful
constexpr double kSureAfter = 30.0;    // seconds after which a rate is used for the ETA, however little is done
constexpr double kRateWindow = 5.0;    // seconds: long enough for a steady rate, short enough to show a change
constexpr double kMomentEvery = 1.0;
constexpr std::size_t kWidestBar = 24;
constexpr std::size_t kShortestBar = 8;

double share(double done, double total) { return total > 0 ? std::min(1.0, done / total) : -1.0; }

std::string bar(double ratio, std::size_t width) {
  const auto filled = static_cast<std::size_t>(ratio * static_cast<double>(width));
  return "[" + std::string(filled, '#') + std::string(width - filled, '-') + "]";
}

double per_second(std::uint64_t now, std::uint64_t before, double seconds) {
  return now > before && seconds > 0 ? static_cast<double>(now - before) / seconds : 0.0;
}

/// A duration as a person says it: "3 s", "1 min 20 s", "2 h 05 min".
std::string time_to_go(double seconds) {
  if (seconds < 59.5) return fmt::format("{:.0f} s", std::max(1.0, seconds));
  if (seconds < 600) seconds = std::round(seconds / 10) * 10;
  return format_duration(seconds);
}

}  // namespace

ProgressSample sample(const Progress& progress) {
  constexpr auto relaxed = std::memory_order_relaxed;
  return {progress.phase.load(relaxed),          progress.items.load(relaxed),       progress.items_total.load(relaxed),
          progress.bytes.load(relaxed),          progress.bytes_total.load(relaxed), progress.noun.load(relaxed),
          progress.budget_seconds.load(relaxed), progress.starts.load(relaxed),      progress.stage.load(relaxed),
          progress.stages.load(relaxed)};
}

bool ProgressLine::due(const ProgressSample& now, double seconds) const {
  if (now.phase.empty()) return false;
  if (style_ == Style::bar) return !shown_at_ || seconds - *shown_at_ >= kBarInterval;
  return seconds - shown_at_.value_or(first_) >= kPlainInterval;
}

void ProgressLine::remember(const ProgressSample& now, double seconds) {
  if (recent_.empty() || seconds - recent_.back().seconds >= kMomentEvery) recent_.push_back({seconds, now});
  while (recent_.size() > 1 && recent_[1].seconds <= seconds - kRateWindow) recent_.pop_front();
}

std::string ProgressLine::update(const ProgressSample& now, double seconds, std::size_t columns) {
  if (recent_.empty() || now.starts != recent_.back().sample.starts) {
    recent_.clear();
    phase_start_ = seconds;
    if (first_ < 0) first_ = seconds;
  }
  remember(now, seconds);
  if (!due(now, seconds)) return {};
  shown_at_ = seconds;
  if (style_ == Style::json) return progress_json(now);
  const double ratio = done_ratio(now, seconds);
  std::string text = now.phase;
  if (now.stages > 1) text = fmt::format("stage {} of {}: {}", std::min(now.stage, now.stages), now.stages, now.phase);
  std::string after = ratio < 0 ? "" : fmt::format(" {:.0f} %", std::floor(ratio * 100));
  after += numbers(now, seconds);
  if (style_ == Style::plain) return text + after + "\n";
  const std::size_t used = text.size() + after.size() + 4;  // a blank, two brackets, and the last column
  const std::size_t width = std::min(kWidestBar, columns - std::min(used, columns));
  if (ratio >= 0 && width >= kShortestBar) text += " " + bar(ratio, width);
  text += after;
  if (text.size() >= columns) text.resize(columns - 1);
  bar_visible_ = true;
  return "\r" + text + "\x1b[K";
}

std::string ProgressLine::clear() {
  if (!bar_visible_) return {};
  bar_visible_ = false;
  return "\r\x1b[K";
}

double ProgressLine::done_ratio(const ProgressSample& now, double seconds) const {
  const bool by_bytes = now.bytes_total > 0;
  const double work = share(static_cast<double>(by_bytes ? now.bytes : now.items),
                            static_cast<double>(by_bytes ? now.bytes_total : now.items_total));
  return std::max(work, share(seconds - phase_start_, now.budget_seconds));
}

std::string ProgressLine::numbers(const ProgressSample& now, double seconds) const {
  std::string text;
  if (now.items > 0 || now.items_total > 0) {
    text += "  " + format_count(now.items);
    if (now.items_total > 0)
      text += "/" + format_count(now.items_total);
    else if (!now.noun.empty())
      text += fmt::format(" {}", now.noun);
  }
  const double elapsed = seconds - phase_start_;
  double left = now.budget_seconds > elapsed ? now.budget_seconds - elapsed : 0;
  if (elapsed >= kTrustedAfter) {
    const Moment& base = recent_.front();
    const double items_rate = per_second(now.items, base.sample.items, seconds - base.seconds);
    const double bytes_rate = per_second(now.bytes, base.sample.bytes, seconds - base.seconds);
    const std::string unit = now.noun.empty() ? "/s" : fmt::format(" {}/s", now.noun);
    if (items_rate > 0) text += "  " + format_value(items_rate, Unit::none) + unit;
    const bool by_bytes = now.bytes_total > 0;
    const bool is_stalled = by_bytes && now.bytes > 0 && seconds - base.seconds >= kRateWindow;
    if (bytes_rate > 0 || is_stalled) text += "  " + format_rate(bytes_rate);
    const double rate = by_bytes ? bytes_rate : items_rate;
    const std::uint64_t total = by_bytes ? now.bytes_total : now.items_total;
    const std::uint64_t done = by_bytes ? now.bytes : now.items;
    const bool is_representative = elapsed >= kSureAfter || done >= total / 100;
    if (rate > 0 && total > done && is_representative) {
      const double needed = static_cast<double>(total - done) / rate;
      left = left > 0 ? std::min(left, needed) : needed;
    }
  }
  if (left > 0) text += "  ETA " + time_to_go(left);
  if (text.empty() && elapsed >= kTrustedAfter) text = "  " + format_duration(std::floor(elapsed));
  return text;
}

}  // namespace shardkit::cli
