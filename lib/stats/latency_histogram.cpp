#include "stats/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardkit {
namespace {

constexpr unsigned kBitsPerOctave = 7;
constexpr std::uint64_t kPerOctave = 1U << kBitsPerOctave;
// Values below 2 * kPerOctave are their own bucket; each of the octaves above has kPerOctave buckets.
constexpr std::size_t kBuckets = (64 - kBitsPerOctave + 1) * kPerOctave;

std::size_t bucket_of(std::uint64_t ns) {
  if (ns < 2 * kPerOctave) return ns;
  const unsigned shift = static_cast<unsigned>(std::bit_width(ns)) - kBitsPerOctave - 1;
  return shift * kPerOctave + (ns >> shift);
}

/// The middle of a bucket.
double bucket_ns(std::size_t bucket) {
  if (bucket < 2 * kPerOctave) return static_cast<double>(bucket);
  const auto shift = static_cast<int>(bucket / kPerOctave) - 1;
  const std::size_t steps = bucket % kPerOctave + kPerOctave;
  return std::ldexp(static_cast<double>(steps) + 0.5, shift);
}

}  // namespace

LatencyHistogram::LatencyHistogram() : buckets_(kBuckets) {}

void LatencyHistogram::record(std::chrono::nanoseconds duration) {
  const auto ns = static_cast<std::uint64_t>(std::max<std::chrono::nanoseconds::rep>(duration.count(), 0));
  ++buckets_[bucket_of(ns)];
  ++count_;
  max_ns_ = std::max(max_ns_, ns);
}

void LatencyHistogram::merge(const LatencyHistogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

double LatencyHistogram::quantile(double share) const {
  const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen > 0 && seen >= rank) return std::min(bucket_ns(i), static_cast<double>(max_ns_)) * 1e-9;
  }
  return 0;
}

LatencyQuantiles LatencyHistogram::quantiles() const {
  return {quantile(0.5), quantile(0.9), quantile(0.99), static_cast<double>(max_ns_) * 1e-9};
}

}  // namespace shardkit
