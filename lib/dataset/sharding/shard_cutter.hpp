#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "dataset/sharding/sharding_options.hpp"

namespace shardkit {

/// Where an ordered run of samples is cut into shards.
struct ShardCut {
  std::vector<std::uint64_t> samples;  ///< per shard, never 0
  std::uint64_t oversized = 0;         ///< samples larger than the size limit, each alone in its shard
};

/// Cuts `count` samples. `bytes_of(i)` is what sample i takes in a tar, `options` has passed check(). A shard's size
/// includes the end of the archive. Throws Error{usage} when more shards are asked for than there are samples.
ShardCut cut_shards(std::uint64_t count, const std::function<std::uint64_t(std::uint64_t)>& bytes_of,
                    const ShardSizes& options);

}  // namespace shardkit
