#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/context.hpp"
#include "dataset/sharding/sharding_options.hpp"

namespace shardkit::dataset {

/// Where an ordered run of samples is cut into shards.
struct ShardCut {
  std::vector<std::uint64_t> samples;  ///< per shard, never 0
  std::uint64_t oversized = 0;         ///< samples larger than the size limit, each alone in its shard
};

/// Cuts `count` samples. `bytes_of(i)` is the size of sample i in a tar; `options` has passed check(). A shard's size
/// includes the end of the archive. Throws Error{usage} if more shards are requested than there are samples.
ShardCut cut_shards(std::uint64_t count, const std::function<std::uint64_t(std::uint64_t)>& bytes_of,
                    const ShardSizes& options);

/// Warns of samples that are larger than --size, if there are any.
void warn_of_oversized(std::uint64_t samples, Context& context);

/// How many classes one shard holds: few mean that a loader sees long runs of one label.
struct ClassesPerShard {
  std::uint64_t min = 0;
  double mean = 0;
  std::uint64_t max = 0;

  void describe(FieldList& v);
};

/// The properties of a set that determine a loader's shuffle buffer.
struct ShardedOrder {
  bool mixed = true;                ///< neighbors are of any class; otherwise shards hold runs of one class
  std::uint64_t largest_class = 0;  ///< samples
  std::uint64_t samples = 0;        ///< of the whole set
  std::uint64_t bytes = 0;          ///< of its shards
};

struct ShuffleBuffer {
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;  ///< memory that they take, at their mean size in the shards
  /// As members of the result around it.
  void describe(FieldList& v);
};

/// The buffer that a loader worker should use. If shards are shuffled, 1000 samples are enough; in runs of one class a
/// buffer mixes classes only if it spans several of them, and it should span ten. Never larger than the set.
ShuffleBuffer shuffle_buffer_for(const ShardedOrder& order);

}  // namespace shardkit::dataset
