#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/fields.hpp"

namespace shardkit {

/// p50, p90, p99 and max in seconds; the group that holds it is named "latency" with Unit::seconds.
struct LatencyQuantiles {
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;

  void describe(FieldVisitor& v) {
    v.field({"p50", Unit::seconds, "half took no longer"}, p50);
    v.field({"p90", Unit::seconds, "nine of ten took no longer"}, p90);
    v.field({"p99", Unit::seconds, "99 of 100 took no longer"}, p99);
    v.field({"max", Unit::seconds, "the longest"}, max);
  }
};

/// Counts durations in buckets whose width grows with the value: 128 of equal width to each power of two nanoseconds,
/// so that a quantile is off by less than 1 % (HdrHistogram's layout). 58 KiB, whatever is recorded; recording takes
/// no lock and no memory. One thread at a time: give each thread its own and merge them.
class LatencyHistogram {
 public:
  LatencyHistogram();

  /// Negative durations count as 0.
  void record(std::chrono::nanoseconds duration);
  void merge(const LatencyHistogram& other);

  std::uint64_t count() const { return count_; }
  /// The smallest recorded duration that at least `share` of all do not pass, in seconds; share in [0, 1]. 0 when
  /// nothing was recorded.
  double quantile(double share) const;
  LatencyQuantiles quantiles() const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ns_ = 0;
};

}  // namespace shardkit
