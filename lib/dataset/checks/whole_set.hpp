#pragma once

#include <optional>
#include <string>

#include "catalog/shard_set.hpp"

namespace shardkit::dataset {

/// What folders that were named lack of the sets they should hold: shards that a manifest lists, or the rest of a
/// convert or reshard that has not ended. Empty where nothing is missing, for parts of a set that a stage brought on
/// purpose, and for shards that were named one by one.
std::optional<std::string> what_is_missing(const catalog::ShardSet& set);

/// Throws Error{not_found} where something is.
void refuse_missing(const catalog::ShardSet& set);

}  // namespace shardkit::dataset
