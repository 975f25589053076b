#include "sync/thread_need.hpp"

#include <algorithm>
#include <cmath>

namespace shardkit {
namespace {

/// Weight of the newest step: its inverse is enough steps to smooth, few enough to follow a source that gets slow.
constexpr double kNewest = 1.0 / 32;

}  // namespace

unsigned ThreadNeed::after_step(std::int64_t cpu_ns, std::int64_t waited_ns, unsigned threads) {
  cpu_ns_ += (static_cast<double>(cpu_ns) - cpu_ns_) * kNewest;
  waited_ns_ += (static_cast<double>(waited_ns) - waited_ns_) * kNewest;
  const double need = std::round(cores_ * (1.0 + waited_ns_ / std::max(cpu_ns_, 1.0)));
  return std::max(threads, static_cast<unsigned>(std::min(need, 2.0 * threads)));
}

}  // namespace shardkit
