#include "stats/latency_histogram.hpp"

#include <algorithm>

namespace shardkit {

void LatencyHistogram::record(std::chrono::nanoseconds duration) {
  const auto value = static_cast<std::uint64_t>(std::max<std::chrono::nanoseconds::rep>(duration.count(), 0));
  nanoseconds_.record(value);
  total_ += value;
}

double LatencyHistogram::quantile(double share) const { return nanoseconds_.quantile(share) * 1e-9; }

LatencyQuantiles LatencyHistogram::quantiles() const {
  return {quantile(0.5), quantile(0.9), quantile(0.99), static_cast<double>(nanoseconds_.max()) * 1e-9};
}

}  // namespace shardkit
