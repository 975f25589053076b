#pragma once

#include <cstdint>
#include <mutex>
#include <stop_token>

#include "net/clock.hpp"

namespace shardkit {

/// A rate that all connections of a process share. Thread-safe.
class RateLimit {
 public:
  /// `bytes_per_second` > 0; the clock outlives the limit.
  explicit RateLimit(std::uint64_t bytes_per_second, Clock& clock = system_clock());

  /// Waits until `bytes` more may have come. Connections are served in the order they ask. What was not used is saved
  /// up for a tenth of a second, no longer. Throws Error{cancelled} on a stop.
  void take(std::uint64_t bytes, const std::stop_token& stop);

 private:
  Seconds reserve(std::uint64_t bytes);

  const double bytes_per_second_;
  Clock& clock_;
  std::mutex mutex_;
  Seconds paid_until_;
};

}  // namespace shardkit
