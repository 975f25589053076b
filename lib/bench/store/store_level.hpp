#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "bench/store/store_requests.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "net/retry.hpp"
#include "stats/latency_histogram.hpp"

/// Measuring a store at one number of connections.
namespace shardkit {

/// Counts what stores make a client repeat. Thread-safe.
class RetryCount {
 public:
  void note(const RetryEvent& event);

  std::uint64_t retries() const { return retries_; }
  std::uint64_t throttled() const { return throttled_; }
  /// Of the last one; empty without.
  std::string reason() const;

 private:
  std::atomic<std::uint64_t> retries_{0};
  std::atomic<std::uint64_t> throttled_{0};
  mutable std::mutex mutex_;
  std::string reason_;
};

/// How long a level takes, in seconds; the sum of all but `least` at most.
struct LevelTimes {
  double warm_up = 1;  ///< for every connection to be made and have brought its first block
  double least = 1;    ///< of measuring
  double most = 2;     ///< of measuring, where the rate is not steady before
  double ending = 1;   ///< for requests that were begun meanwhile; then they are cut off
};

/// One row of the curve.
struct StoreLevel {
  std::uint64_t connections = 0;
  double bytes_per_second = 0;
  double bytes_per_second_per_connection = 0;
  std::optional<double> ttfb_p50;
  std::optional<double> ttfb_p99;
  std::uint64_t requests = 0;
  std::uint64_t retries = 0;
  std::uint64_t throttled = 0;
  std::optional<bool> steady;  ///< empty: too short to tell

  void describe(FieldVisitor& v);
};

struct LevelMeasurement {
  StoreLevel level;
  std::uint64_t bytes = 0;  ///< of bodies, within the time of `timing`
  Timing timing;
  LatencyHistogram latency;  ///< of whole requests that were begun within that time
  LatencyHistogram ttfb;     ///< of the same, until the first byte of the body
};

/// Keeps `connections` requests under way. The first request of each connection, which makes the connection, is not
/// measured. Throws what the source throws, Error{not_found} when no object is left, Error{cancelled} on a stop.
LevelMeasurement measure_level(ObjectSource& source, StoreRequests& requests, RetryCount& retries,
                               std::uint64_t connections, const LevelTimes& times, Context& context);

}  // namespace shardkit
