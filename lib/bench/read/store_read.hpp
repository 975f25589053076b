#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bench/read/read.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "io/object_source.hpp"
#include "net/store_opener.hpp"
#include "stats/latency_histogram.hpp"

/// `iobench read` for URLs, with the same client as stage: the rate by number of connections, the time to the first
/// byte, and whether training can stream.
namespace shardkit::bench {

/// An object, and the source to ask for it.
struct StoreObject {
  std::shared_ptr<io::ObjectSource> source;
  io::ObjectInfo info;
};

/// A part of an object to request.
struct StoreRequest {
  std::size_t object = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool whole = false;  ///< the object does not support ranges: request all of it
};

/// Endless requests for a store: the objects alternately in an order that depends on the seed, and a block at a new
/// random offset of each. So requests spread over the whole set, like those of many loaders, and over all partitions of
/// the store. Thread-safe.
class StoreRequests {
 public:
  /// Empty objects are left out; `block` is more than 0.
  StoreRequests(std::vector<StoreObject> objects, std::uint64_t block, std::uint64_t seed);

  /// Throws Error{not_found} if no object is left.
  StoreRequest next();
  const StoreObject& object(const StoreRequest& request) const { return objects_[request.object]; }

  /// From now on the object of `request` is requested as a whole.
  void note_no_ranges(const StoreRequest& request) { states_[request.object] = State::whole; }
  /// The object of `request` has changed or was deleted: it is not requested again.
  void note_changed(const StoreRequest& request) { states_[request.object] = State::changed; }

  std::size_t objects() const { return objects_.size(); }
  std::size_t without_ranges() const { return count(State::whole); }
  std::size_t changed() const { return count(State::changed); }

 private:
  enum class State : std::uint8_t { ranges, whole, changed };

  std::size_t count(State state) const;

  std::vector<StoreObject> objects_;
  std::vector<std::atomic<State>> states_;  ///< by object
  std::uint64_t block_;
  std::uint64_t seed_;
  std::atomic<std::uint64_t> next_{0};
};

/// Counts requests that a client must repeat. Thread-safe.
class RetryCount {
 public:
  void note(const net::RetryEvent& event);

  std::uint64_t retries() const { return retries_; }
  std::uint64_t throttled() const { return throttled_; }
  /// Text of the last one; empty if there was none.
  std::string reason() const;

 private:
  std::atomic<std::uint64_t> retries_{0};
  std::atomic<std::uint64_t> throttled_{0};
  mutable std::mutex mutex_;
  std::string reason_;
};

/// Times of a level, in seconds; at most the sum of all but `least`.
struct LevelTimes {
  double warm_up = 1;  ///< for connecting and the first block of every connection
  double least = 1;    ///< of measuring
  double most = 2;     ///< of measuring, if the rate was not steady before
  double ending = 1;   ///< for requests in flight to end; then they are cancelled
};

struct LevelMeasurement {
  StoreLevel level;
  std::uint64_t bytes = 0;  ///< of bodies, within the measured time
  Timing timing;
  stats::LatencyHistogram latency;  ///< of whole requests that started within that time
  stats::LatencyHistogram ttfb;     ///< of the same requests, until the first byte of the body
};

/// Keeps `connections` requests in flight. The first request of each connection, which connects, is not measured.
/// Throws the errors of the sources, Error{not_found} if no object is left, Error{cancelled} on a stop.
LevelMeasurement measure_level(StoreRequests& requests, RetryCount& retries, std::uint64_t connections,
                               const LevelTimes& times, Context& context);

/// Measures existing objects; `location` is their name. `retries` gets the repetitions of their sources.
ReadResult read_objects(std::vector<StoreObject> objects, const std::string& location, RetryCount& retries,
                        const ReadOptions& options, Context& context);

/// Limits the time before a store is measured: until found(), requests without an answer are made three times, and none
/// is repeated after the budget. Afterwards each level limits itself. Thread-safe.
class StorePatience {
 public:
  /// The budget, in seconds, starts now. `clock` outlives it.
  StorePatience(double budget, system::Clock& clock);

  /// Sets how `options` wait and retry. Stores opened with them use this object, which must outlive them.
  void apply(net::StoreOptions& options);
  /// All objects to measure are known.
  void found() { finding_ = false; }

  bool may_retry(const net::RetryEvent& event) const;

 private:
  system::Clock& clock_;
  system::Seconds budget_;
  system::Seconds end_;
  std::atomic<bool> finding_{true};
};

/// Finds the objects and, if they are in a store, measures it with the same client.
class StoreReader {
 public:
  /// `options` and `context` outlive it. Throws Error{usage} if a path is a URL and options do not apply to a store.
  StoreReader(const ReadOptions& options, Context& context);

  /// The set of options.paths, local or not. It does not outlive this object. Throws the errors of find_objects() and
  /// of stores.
  InputSet find();
  /// Measures a set that find() returned. Throws Error{usage} for options that do not apply to a store, Error{network}
  /// if nothing was received, and the errors of stores.
  ReadResult read(const InputSet& input);

 private:
  const ReadOptions& options_;
  Context& context_;
  RetryCount retries_;
  StorePatience patience_;
  std::shared_ptr<catalog::Inputs> inputs_;
};

/// The error of a search for `operands`, with the address as given by the user and a remedy. The code is unchanged.
Error unreachable(const Error& error, const std::vector<std::string>& operands);

}  // namespace shardkit::bench
