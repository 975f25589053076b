#include "sync/climbing_workers.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace shardkit::sync {
namespace {

constexpr double kGain = 1.08;  // less is the noise of networks
constexpr int kPause = 20;
constexpr int kPauseAfterThrottling = 40;

using Clock = std::chrono::steady_clock;

constexpr auto kInterval = std::chrono::milliseconds(250);

}  // namespace

RateClimber::RateClimber(unsigned start, unsigned maximum)
    : level_(std::min(start, maximum)), maximum_(maximum), before_(level_) {}

void RateClimber::measured(double rate, bool throttled) {
  if (throttled) return step_back(std::max(1U, level_ / 2), kPauseAfterThrottling);
  if (mixed_ > 0) {
    --mixed_;
    return;
  }
  if (probing_ && rate < rate_ * kGain) return step_back(before_, kPause);
  rate_ = rate;
  probing_ = false;
  if (pause_ > 0) {
    --pause_;
  } else {
    probe();
  }
}

void RateClimber::probe() {
  if (level_ == maximum_) return;
  before_ = level_;
  level_ = std::min(maximum_, level_ + std::max(1U, level_ / 2));
  probing_ = true;
  mixed_ = 1;
}

void RateClimber::step_back(unsigned level, int pause) {
  level_ = level;
  probing_ = false;
  mixed_ = 1;
  pause_ = pause;
}

ClimbingWorkers::ClimbingWorkers(unsigned start, unsigned maximum, std::stop_token parent)
    : parent_(std::move(parent)), climb_(start, maximum) {}

void ClimbingWorkers::run(const std::function<Step()>& make_step) {
  TaskGroup group(parent_);
  group_ = &group;
  make_step_ = &make_step;
  finished_ = false;
  measured_at_ = Clock::now();
  {
    const std::scoped_lock lock(mutex_);
    add_threads();
  }
  group.wait();
}

/// If the system refuses another thread (a pids limit), the existing ones do the work.
void ClimbingWorkers::add_threads() {
  try {
    for (; threads_ < climb_.level(); ++threads_) {
      group_->spawn([this, number = threads_](const std::stop_token& stop) { work(number, stop); });
    }
  } catch (const std::system_error&) {
    if (threads_ == 0) throw;
  }
}

void ClimbingWorkers::work(unsigned number, const std::stop_token& stop) {
  const Step step = (*make_step_)();
  while (wait_for_turn(number, stop)) {
    if (step(stop)) continue;
    const std::scoped_lock lock(mutex_);
    finished_ = true;
    turn_.notify_all();
    return;
  }
}

/// False when the work is done or to be left.
bool ClimbingWorkers::wait_for_turn(unsigned number, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  turn_.wait(lock, stop, [&] { return finished_ || number < climb_.level(); });
  return !finished_ && !stop.stop_requested();
}

void ClimbingWorkers::moved(std::uint64_t bytes) {
  bytes_ += bytes;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const auto now = Clock::now();
  if (now - measured_at_ >= kInterval) measure(now);
}

void ClimbingWorkers::measure(Clock::time_point now) {
  const std::chrono::duration<double> seconds = now - std::exchange(measured_at_, now);
  climb_.measured(static_cast<double>(bytes_.exchange(0)) / seconds.count(), throttled_.exchange(false));
  if (!finished_) add_threads();
  turn_.notify_all();
}

unsigned ClimbingWorkers::level() const {
  const std::scoped_lock lock(mutex_);
  return climb_.level();
}

}  // namespace shardkit::sync
