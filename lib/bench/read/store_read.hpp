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
#include "net/store_source.hpp"
#include "stats/latency_histogram.hpp"

/// `iobench read` of what lies behind a URL, by the client that stages: how many connections give how much, how long
/// the first byte takes, and whether training can stream.
namespace shardkit::bench {

/// An object, and the source to ask for it.
struct StoreObject {
  std::shared_ptr<io::ObjectSource> source;
  io::ObjectInfo info;
};

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
  StoreRequests(std::vector<StoreObject> objects, std::uint64_t block, std::uint64_t seed);

  /// Throws Error{not_found} when no object is left.
  StoreRequest next();
  const StoreObject& object(const StoreRequest& request) const { return objects_[request.object]; }

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

  std::vector<StoreObject> objects_;
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

struct LevelMeasurement {
  StoreLevel level;
  std::uint64_t bytes = 0;  ///< of bodies, within the time of `timing`
  Timing timing;
  stats::LatencyHistogram latency;  ///< of whole requests that were begun within that time
  stats::LatencyHistogram ttfb;     ///< of the same, until the first byte of the body
};

/// Keeps `connections` requests under way. The first request of each connection, which makes the connection, is not
/// measured. Throws what the sources throw, Error{not_found} when no object is left, Error{cancelled} on a stop.
LevelMeasurement measure_level(StoreRequests& requests, RetryCount& retries, std::uint64_t connections,
                               const LevelTimes& times, Context& context);

/// Measures objects that were found already; `location` names them. `retries` is told of what their sources repeat.
ReadResult read_objects(std::vector<StoreObject> objects, const std::string& location, RetryCount& retries,
                        const ReadOptions& options, Context& context);

/// Streaming has to give this many times the requirement: stores slow down when others use them.
inline constexpr double kStreamingReserve = 1.2;

/// Compares what a store supplies with what a job requires, for a set of `set_bytes` that every epoch reads whole. All
/// are more than 0. That the local disk gives the requirement is taken for granted. The rules stand in
/// docs/measuring.md.
StreamingVerdict judge_streaming(double supply, double required, std::uint64_t set_bytes);

/// Limits what is asked before a store is measured: until found(), requests that nobody answers are made three times,
/// and none is repeated after the budget. Later each level of the measurement ends by itself. Thread-safe.
class StorePatience {
 public:
  /// The budget, in seconds, counts from here. `clock` outlives it.
  StorePatience(double budget, system::Clock& clock);

  /// Sets how `options` wait and repeat. What is opened with them asks this object, which has to outlive it.
  void apply(net::StoreOptions& options);
  /// Everything that is to be measured is known.
  void found() { finding_ = false; }

  bool may_retry(const net::RetryEvent& event) const;

 private:
  system::Clock& clock_;
  system::Seconds budget_;
  system::Seconds end_;
  std::atomic<bool> finding_{true};
};

/// Finds what is to be measured and, where it lies in a store, measures it by the same client.
class StoreReader {
 public:
  /// `options` and `context` outlive it. Throws Error{usage} where a path is a URL and options mean nothing to a store.
  StoreReader(const ReadOptions& options, Context& context);

  /// What options.paths name, local or not. The set does not outlive this object. Throws what find_objects() and stores
  /// throw.
  InputSet find();
  /// Measures a set of objects that find() returned. Throws Error{usage} for options that mean nothing to a store,
  /// Error{network} when nothing came at all, and what stores throw.
  ReadResult read(const InputSet& input);

 private:
  const ReadOptions& options_;
  Context& context_;
  RetryCount retries_;
  StorePatience patience_;
  std::shared_ptr<catalog::Inputs> inputs_;
};

/// `error`, which came while looking for what `operands` name, told with the address that the user gave and with what
/// to do. The same code.
Error unreachable(const Error& error, const std::vector<std::string>& operands);

}  // namespace shardkit::bench
