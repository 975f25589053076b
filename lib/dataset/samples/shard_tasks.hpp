#pragma once

#include <cstddef>
#include <functional>

#include "core/context.hpp"

namespace shardkit {

/// Runs `work` for shards 0 to `shards` - 1, up to `threads` at a time; it gets the shard's place and the number of the
/// thread it is on, below `threads`. The first exception ends it and is rethrown; throws Error{cancelled} when `ctx` is
/// stopped.
void for_each_shard(std::size_t shards, unsigned threads, const Context& ctx,
                    const std::function<void(std::size_t shard, std::size_t thread)>& work);

}  // namespace shardkit
