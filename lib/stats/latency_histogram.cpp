#include "stats/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardkit::stats {
namespace {

constexpr unsigned kBitsPerOctave = 7;
constexpr std::uint64_t kPerOctave = 1U << kBitsPerOctave;
// Values below 2 * kPerOctave are their own bucket; each of the octaves above has kPerOctave buckets.
constexpr std::size_t kBuckets = (64 - kBitsPerOctave + 1) * kPerOctave;

std::size_t bucket_of(std::uint64_t value) {
  if (value < 2 * kPerOctave) return value;
  const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kBitsPerOctave - 1;
  return shift * kPerOctave + (value >> shift);
}

/// The power of two of a bucket, as the number of bits of its values.
unsigned bits_of(std::size_t bucket) {
  if (bucket < 2 * kPerOctave) return static_cast<unsigned>(std::bit_width(bucket));
  return static_cast<unsigned>(bucket / kPerOctave) + kBitsPerOctave;
}

/// The middle of a bucket.
double middle_of(std::size_t bucket) {
  if (bucket < 2 * kPerOctave) return static_cast<double>(bucket);
  const auto shift = static_cast<int>(bucket / kPerOctave) - 1;
  const std::size_t steps = bucket % kPerOctave + kPerOctave;
  return std::ldexp(static_cast<double>(steps) + 0.5, shift);
}

}  // namespace

LogHistogram::LogHistogram() : buckets_(kBuckets) {}

void LogHistogram::record(std::uint64_t value) {
  ++buckets_[bucket_of(value)];
  ++count_;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
}

void LogHistogram::merge(const LogHistogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

double LogHistogram::quantile(double share) const {
  const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen > 0 && seen >= rank) {
      return std::clamp(middle_of(i), static_cast<double>(min_), static_cast<double>(max_));
    }
  }
  return 0;
}

std::vector<LogHistogram::Octave> LogHistogram::octaves() const {
  std::vector<Octave> octaves;
  if (count_ == 0) return octaves;
  const auto first = static_cast<unsigned>(std::bit_width(min_));
  const auto last = static_cast<unsigned>(std::bit_width(max_));
  for (unsigned bits = first; bits <= last; ++bits) {
    const std::uint64_t from = bits == 0 ? 0 : std::uint64_t{1} << (bits - 1);
    octaves.push_back({from, bits == 0 ? 0 : from + (from - 1), 0});
  }
  for (std::size_t i = bucket_of(min_); i <= bucket_of(max_); ++i) octaves[bits_of(i) - first].count += buckets_[i];
  return octaves;
}

void LatencyHistogram::record(std::chrono::nanoseconds duration) {
  const auto value = static_cast<std::uint64_t>(std::max<std::chrono::nanoseconds::rep>(duration.count(), 0));
  nanoseconds_.record(value);
  total_ += value;
}

double LatencyHistogram::quantile(double share) const { return nanoseconds_.quantile(share) * 1e-9; }

LatencyQuantiles LatencyHistogram::quantiles() const {
  return {quantile(0.5), quantile(0.9), quantile(0.99), static_cast<double>(nanoseconds_.max()) * 1e-9};
}

std::vector<LatencyStep> LatencyHistogram::steps() const {
  std::vector<LatencyStep> steps;
  for (const LogHistogram::Octave& octave : nanoseconds_.octaves()) {
    steps.push_back({static_cast<double>(octave.from) * 1e-9, static_cast<double>(octave.to) * 1e-9, octave.count});
  }
  return steps;
}

}  // namespace shardkit::stats
