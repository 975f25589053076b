#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/sharding/shard_target.hpp"

namespace shardkit::dataset {

/// The folders below `folder` that a convert or reshard writes to, sorted: the sets of a split.
std::vector<std::string> sets_below(io::OutputFiles& files, const std::string& folder);
/// Throws Error{usage} if `target` is the folder `from` or inside it: the next run would read what this one writes.
/// `role` is what the message calls `from`, such as "source". Both may be addresses.
void refuse_target_inside(const std::string& target, const std::string& from, std::string_view role);
/// How many parts write the target, whose plan is open: as its array tasks recorded it, else as the plan says, else as
/// in the division of which most is there or was begun, also by a run that was killed. Empty if nothing shows it.
std::optional<std::uint64_t> known_parts(const ShardTarget& target);

}  // namespace shardkit::dataset
