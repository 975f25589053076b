#include "bench/watch/watch_loop.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace shardkit {
namespace {

constexpr double kLeastInterval = 0.1;

/// False when the stop came.
bool sleep_until(double moment, Clock& clock, const std::stop_token& stop) {
  try {
    clock.sleep(Seconds(std::max(0.0, moment - clock.monotonic().count())), stop);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
    return false;
  }
}

}  // namespace

WatchEnd watch_loop(const WatchBounds& bounds, Clock& clock, const std::stop_token& stop, const WatchLook& look,
                    const WatchInterval& take) {
  WatchSample before = look();
  const double end = before.moment + bounds.duration.value_or(1e12);
  double next = before.moment;
  for (std::uint64_t taken = 1;; ++taken) {
    next = std::max(next + bounds.interval, clock.monotonic().count());
    const bool last = next > end - kLeastInterval;
    const bool slept = sleep_until(std::min(next, end), clock, stop);
    if (!slept && clock.monotonic().count() - before.moment < kLeastInterval) return WatchEnd::stopped;
    WatchSample after = look();
    if (after.process_ended) return WatchEnd::process;
    if (!take(before, after)) return WatchEnd::stopped;
    before = std::move(after);
    if (!slept) return WatchEnd::stopped;
    if (last) return WatchEnd::duration;
    if (taken == bounds.count) return WatchEnd::count;
  }
}

}  // namespace shardkit
