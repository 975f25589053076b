#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardkit {

/// Counts whole numbers in buckets whose width grows with the value: 128 of equal width to each power of two, so that
/// a quantile is off by less than 1 % (HdrHistogram's layout). 58 KiB, whatever is recorded; recording takes no lock
/// and no memory. One thread at a time: give each thread its own and merge them.
class LogHistogram {
 public:
  LogHistogram();

  void record(std::uint64_t value);
  void merge(const LogHistogram& other);

  std::uint64_t count() const { return count_; }
  /// 0 when nothing was recorded.
  std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  std::uint64_t max() const { return max_; }
  /// The smallest recorded value that at least `share` of all do not pass; share in [0, 1]. 0 when nothing was
  /// recorded.
  double quantile(double share) const;

  /// How many values lie in `from` to `to`, both included.
  struct Octave {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t count = 0;
  };
  /// By powers of two, from that of the smallest value to that of the largest; 0 is alone.
  std::vector<Octave> octaves() const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t min_ = ~std::uint64_t{0};
  std::uint64_t max_ = 0;
};

}  // namespace shardkit
