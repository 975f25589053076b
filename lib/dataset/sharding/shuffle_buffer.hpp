#pragma once

#include <cstdint>

namespace shardkit {

/// What the shuffle buffer of a loader has to cope with.
struct ShardedOrder {
  bool mixed = true;                ///< neighbours are of any class; otherwise shards hold runs of one class
  std::uint64_t largest_class = 0;  ///< samples
  std::uint64_t samples = 0;        ///< of the whole set
  std::uint64_t bytes = 0;          ///< of its shards
};

struct ShuffleBuffer {
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;  ///< memory that they take, at their mean size in the shards
};

/// The buffer that a loader worker should use. Where shards are shuffled, 1000 samples do; in runs of one class a
/// buffer mixes classes only when it spans several of them, and it should span ten. Never more than there are.
ShuffleBuffer shuffle_buffer_for(const ShardedOrder& order);

}  // namespace shardkit
