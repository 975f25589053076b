#pragma once

#include <cstddef>
#include <functional>

#include "core/context.hpp"

namespace shardkit {

/// Calls `work` with 0 to `shards` - 1, up to `threads` at a time, and raises the progress's items. The first exception
/// ends it and is rethrown; throws Error{cancelled} when `ctx` is stopped.
void for_each_shard(std::size_t shards, unsigned threads, Context& ctx, const std::function<void(std::size_t)>& work);

}  // namespace shardkit
