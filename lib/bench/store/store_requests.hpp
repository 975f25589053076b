#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/object_source.hpp"

namespace shardkit {

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
  StoreRequests(std::vector<ObjectInfo> objects, std::uint64_t block, std::uint64_t seed);

  /// Throws Error{not_found} when no object is left.
  StoreRequest next();
  const ObjectInfo& object(const StoreRequest& request) const { return objects_[request.object]; }

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

  std::vector<ObjectInfo> objects_;
  std::vector<std::atomic<State>> states_;  ///< by object
  std::uint64_t block_;
  std::uint64_t seed_;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace shardkit
