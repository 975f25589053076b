#pragma once

#include <string>
#include <vector>

#include "dataset/sharding/shard_target.hpp"

namespace shardkit::dataset {

/// The folders below `folder` that a convert or reshard writes to, sorted: the sets of a split.
std::vector<std::string> sets_below(const std::string& folder);
/// Whether the manifest of the target's plan, which is open, is there.
bool is_merged(const ShardTarget& target);

}  // namespace shardkit::dataset
