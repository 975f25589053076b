#include "net/rate_limit.hpp"

#include <algorithm>

namespace shardkit {
namespace {

constexpr Seconds kSavedUp{0.1};

}  // namespace

RateLimit::RateLimit(std::uint64_t bytes_per_second, Clock& clock)
    : bytes_per_second_(static_cast<double>(bytes_per_second)), clock_(clock), paid_until_(clock.monotonic()) {}

void RateLimit::take(std::uint64_t bytes, const std::stop_token& stop) {
  const Seconds wait = reserve(bytes);
  if (wait > Seconds(0)) clock_.sleep(wait, stop);
}

/// Books the time that these bytes take and says how long until then.
Seconds RateLimit::reserve(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  const Seconds now = clock_.monotonic();
  paid_until_ = std::max(paid_until_, now - kSavedUp) + Seconds(static_cast<double>(bytes) / bytes_per_second_);
  return paid_until_ - now;
}

}  // namespace shardkit
