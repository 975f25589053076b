#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataset/sharding/shard_target.hpp"

namespace shardkit::dataset {

/// The folders below `folder` that a convert or reshard writes to, sorted: the sets of a split.
std::vector<std::string> sets_below(io::OutputFiles& files, const std::string& folder);
/// How many parts write the target, whose plan is open: as its array tasks recorded it, else as the plan says, else as
/// in the division of which most is there or was begun, also by a run that was killed. Empty if nothing shows it.
std::optional<std::uint64_t> known_parts(const ShardTarget& target);

}  // namespace shardkit::dataset
