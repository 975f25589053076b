#pragma once

#include <optional>
#include <string>

#include "catalog/shard_set.hpp"
#include "core/context.hpp"

namespace shardkit::dataset {

/// How many images several sets, which are the folders of the shards, have in common, in words; empty if none.
/// Compares the checksums in the shards' indexes; shards without a readable one are not compared. Takes 8 bytes of
/// memory per image.
std::optional<std::string> images_in_several_sets(const catalog::ShardSet& set, Context& context);

}  // namespace shardkit::dataset
