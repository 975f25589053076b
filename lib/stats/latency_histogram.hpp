#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/fields.hpp"

namespace shardkit::stats {

/// Counts whole numbers in buckets whose width grows with the value: 128 of equal width per power of two, so the error
/// of a quantile is below 1 % (HdrHistogram's layout). 58 KiB, whatever is recorded; recording needs no lock and no
/// allocation. One thread at a time: give each thread its own and merge them.
class LogHistogram {
 public:
  LogHistogram();

  void record(std::uint64_t value);
  void merge(const LogHistogram& other);

  std::uint64_t count() const { return count_; }
  /// 0 if nothing was recorded.
  std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  std::uint64_t max() const { return max_; }
  /// The smallest recorded value that at least `share` of all values do not exceed; share in [0, 1]. 0 if nothing was
  /// recorded.
  double quantile(double share) const;

  /// How many values are in `from` to `to`, both included.
  struct Octave {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t count = 0;

    void describe(FieldList& v) {
      v.field({"from", "a power of two, or 0"}, from);
      v.field({"to", "largest value of this row"}, to);
      v.field({"values", Unit::count, "how many values are in this row, both ends included"}, count);
    }
  };
  /// By powers of two, from that of the smallest value to that of the largest; 0 is separate.
  std::vector<Octave> octaves() const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t min_ = ~std::uint64_t{0};
  std::uint64_t max_ = 0;
};

/// p50, p90, p99 and max in seconds; the group that contains it is named "latency" with Unit::seconds.
struct LatencyQuantiles {
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;

  void describe(FieldList& v) {
    v.field({"p50", Unit::seconds, "half took at most this long"}, p50);
    v.field({"p90", Unit::seconds, "9 of 10 took at most this long"}, p90);
    v.field({"p99", Unit::seconds, "99 of 100 took at most this long", kJudged}, p99);
    v.field({"max", Unit::seconds, "the longest"}, max);
  }
};

/// How many durations, in seconds, are in `from` to `to`.
struct LatencyStep {
  double from = 0;
  double to = 0;
  std::uint64_t count = 0;

  void describe(FieldList& v) {
    v.field({"from", Unit::seconds, "shortest time of this row"}, from);
    v.field({"to", Unit::seconds, "longest time of this row"}, to);
    v.field({"count", Unit::count, "reads"}, count);
  }
};

/// A LogHistogram of durations in nanoseconds: the error of quantiles is below 1 %. One thread at a time: give each
/// thread its own and merge them.
class LatencyHistogram {
 public:
  /// Negative durations count as 0.
  void record(std::chrono::nanoseconds duration);
  void merge(const LatencyHistogram& other) {
    nanoseconds_.merge(other.nanoseconds_);
    total_ += other.total_;
  }

  std::uint64_t count() const { return nanoseconds_.count(); }
  /// The smallest recorded duration that at least `share` of all do not exceed, in seconds; share in [0, 1]. 0 if
  /// nothing was recorded.
  double quantile(double share) const;
  LatencyQuantiles quantiles() const;
  /// Counts by powers of two of nanoseconds.
  std::vector<LatencyStep> steps() const;
  /// Of all durations, in seconds.
  double total() const { return static_cast<double>(total_) * 1e-9; }

 private:
  LogHistogram nanoseconds_;
  std::uint64_t total_ = 0;
};

}  // namespace shardkit::stats
