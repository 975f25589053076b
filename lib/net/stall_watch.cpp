#include "net/stall_watch.hpp"

namespace shardkit {

bool StallWatch::waited(Seconds duration) {
  waited_ += duration;
  if (waited_ < limit_.window) return false;
  if (bytes_ < limit_.bytes_per_second * limit_.window.count()) return true;
  bytes_ = 0;
  waited_ = Seconds(0);
  return false;
}

}  // namespace shardkit
