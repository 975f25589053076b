#pragma once

#include <cstdint>

#include "net/clock.hpp"

namespace shardkit {

/// What counts as a dead connection: fewer than `bytes_per_second` on average over a `window` of waiting.
struct StallLimit {
  double bytes_per_second = 1;
  Seconds window{30};
};

/// Tells a dead connection from one whose bytes are not wanted yet: only time spent waiting for the other side counts,
/// not the time in which a rate limit or a full disk held the reader back.
class StallWatch {
 public:
  explicit StallWatch(const StallLimit& limit) : limit_(limit) {}

  void came(std::uint64_t bytes) { bytes_ += static_cast<double>(bytes); }
  /// Takes in a wait; true when the connection is dead.
  bool waited(Seconds duration);

 private:
  StallLimit limit_;
  double bytes_ = 0;
  Seconds waited_{0};
};

}  // namespace shardkit
