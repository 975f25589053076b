#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/timing/timed_run.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "io/object_source.hpp"
#include "net/retry.hpp"
#include "stats/latency_histogram.hpp"

/// Measuring a store at one number of connections.
namespace shardkit::bench {

/// A part of an object to ask for.
struct StoreRequest {
  std::size_t object = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool whole = false;  ///< the object gives no ranges: ask for all of it
};

/// What to ask a store for, without end: the objects in turn, in an order drawn by the seed, of each a block at an
/// offset drawn anew. So requests spread over the whole set, as those of many loaders do, and over all that a store
/// divides keys among. Thread-safe.
class StoreRequests {
 public:
  /// Empty objects are left out; `block` is more than 0.
  StoreRequests(std::vector<io::ObjectInfo> objects, std::uint64_t block, std::uint64_t seed);

  /// Throws Error{not_found} when no object is left.
  StoreRequest next();
  const io::ObjectInfo& object(const StoreRequest& request) const { return objects_[request.object]; }

  /// From now on the object of `request` is asked for as a whole.
  void note_no_ranges(const StoreRequest& request) { states_[request.object] = State::whole; }
  /// The object of `request` is another one by now, or gone: it is asked for no more.
  void note_changed(const StoreRequest& request) { states_[request.object] = State::changed; }

  std::size_t objects() const { return objects_.size(); }
  std::size_t without_ranges() const { return count(State::whole); }
  std::size_t changed() const { return count(State::changed); }

 private:
  enum class State : std::uint8_t { ranges, whole, changed };

  std::size_t count(State state) const;

  std::vector<io::ObjectInfo> objects_;
  std::vector<std::atomic<State>> states_;  ///< by object
  std::uint64_t block_;
  std::uint64_t seed_;
  std::atomic<std::uint64_t> next_{0};
};

/// Counts what stores make a client repeat. Thread-safe.
class RetryCount {
 public:
  void note(const net::RetryEvent& event);

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
  stats::LatencyHistogram latency;  ///< of whole requests that were begun within that time
  stats::LatencyHistogram ttfb;     ///< of the same, until the first byte of the body
};

/// Keeps `connections` requests under way. The first request of each connection, which makes the connection, is not
/// measured. Throws what the source throws, Error{not_found} when no object is left, Error{cancelled} on a stop.
LevelMeasurement measure_level(io::ObjectSource& source, StoreRequests& requests, RetryCount& retries,
                               std::uint64_t connections, const LevelTimes& times, Context& context);

}  // namespace shardkit::bench
