#pragma once

#include <cstdint>
#include <mutex>

namespace shardkit {

/// How many bytes one request asks for. A request costs a wait for its first byte: where that wait is more than a
/// twentieth of its time, requests grow to four times the size they start with; who is asked for fewer requests goes
/// back to where he began. Thread-safe.
class RangeSize {
 public:
  explicit RangeSize(std::uint64_t start) : start_(start), bytes_(start) {}

  /// The size now. Near the end it is no more than a share of `left` bytes for each of `requests` under way, so that
  /// all of them have something to do; never less than at the start.
  std::uint64_t bytes(std::uint64_t left, unsigned requests) const;

  /// A request of the present size has taken `seconds`, of which the first passed before its first byte.
  void took(double seconds_to_first_byte, double seconds);
  void throttled();

 private:
  const std::uint64_t start_;
  mutable std::mutex mutex_;
  std::uint64_t bytes_;
  int slow_starts_ = 0;  ///< in a row
};

}  // namespace shardkit
