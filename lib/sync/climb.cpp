#include "sync/climb.hpp"

#include <algorithm>

namespace shardkit {
namespace {

constexpr double kGain = 1.08;  // less is the noise of networks
constexpr int kRest = 20;
constexpr int kRestOfThrottled = 40;

}  // namespace

Climb::Climb(unsigned start, unsigned maximum) : level_(std::min(start, maximum)), maximum_(maximum), before_(level_) {}

void Climb::measured(double rate, bool throttled) {
  if (throttled) return step_back(std::max(1U, level_ / 2), kRestOfThrottled);
  if (mixed_ > 0) {
    --mixed_;
    return;
  }
  if (probing_ && rate < rate_ * kGain) return step_back(before_, kRest);
  rate_ = rate;
  probing_ = false;
  if (rest_ > 0) {
    --rest_;
  } else {
    probe();
  }
}

void Climb::probe() {
  if (level_ == maximum_) return;
  before_ = level_;
  level_ = std::min(maximum_, level_ + std::max(1U, level_ / 2));
  probing_ = true;
  mixed_ = 1;
}

void Climb::step_back(unsigned level, int rest) {
  level_ = level;
  probing_ = false;
  mixed_ = 1;
  rest_ = rest;
}

}  // namespace shardkit
