#include "staging/range_size.hpp"

#include <algorithm>

namespace shardkit {
namespace {

constexpr std::uint64_t kMostGrowth = 4;
constexpr double kTolerableShare = 0.05;
constexpr int kEnough = 8;  // one slow answer says nothing

}  // namespace

std::uint64_t RangeSize::bytes(std::uint64_t left, unsigned requests) const {
  const std::scoped_lock lock(mutex_);
  return std::clamp(left / std::max(1U, requests), start_, bytes_);
}

void RangeSize::took(double seconds_to_first_byte, double seconds) {
  const std::scoped_lock lock(mutex_);
  slow_starts_ = seconds_to_first_byte > seconds * kTolerableShare ? slow_starts_ + 1 : 0;
  if (slow_starts_ < kEnough) return;
  slow_starts_ = 0;
  bytes_ = std::min(bytes_ * 2, start_ * kMostGrowth);
}

void RangeSize::throttled() {
  const std::scoped_lock lock(mutex_);
  bytes_ = start_;
  slow_starts_ = 0;
}

}  // namespace shardkit
