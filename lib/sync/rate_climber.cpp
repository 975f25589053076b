#include "sync/rate_climber.hpp"

#include <algorithm>
#include <utility>

namespace shardkit::sync {
namespace {

constexpr double kGain = 1.08;  // less is the noise of networks
constexpr int kPause = 20;
constexpr int kPauseAfterThrottling = 40;
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

void RateClimber::moved(std::uint64_t bytes, WorkerPool& pool) {
  bytes_ += bytes;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  const auto now = std::chrono::steady_clock::now();
  if (!lock.owns_lock() || now - measured_at_ < kInterval) return;
  const std::chrono::duration<double> seconds = now - std::exchange(measured_at_, now);
  measured(static_cast<double>(bytes_.exchange(0)) / seconds.count(), throttled_.exchange(false));
  pool.set_level(level_);
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

}  // namespace shardkit::sync
