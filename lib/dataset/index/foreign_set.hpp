#pragma once

#include <string>
#include <vector>

#include "core/context.hpp"
#include "dataset/index/foreign_shard.hpp"
#include "formats/manifest.hpp"

/// The indexes that other readers keep of a set of shards in one folder: beside each shard, and over all of them.
namespace shardkit {

/// Reads a list of "dali", "wids" and "energon"; throws Error{usage} for anything else.
ForeignKinds parse_foreign_kinds(const std::vector<std::string>& names);

/// Throws Error{usage} that names both when two shards have one name for DALI, which cuts it at the first dot.
void check_dali_names(const std::vector<std::string>& shards);

/// What every one of `shards` has per-shard indexes for: what the parts of a convert were asked for. DALI's are not
/// looked for, because nothing of the set depends on them. Warns when some parts wrote what others did not.
ForeignKinds kinds_of_parts(const std::string& folder, const std::vector<ManifestShard>& shards, Context& ctx);

/// Publishes what lies over the whole set: shardindex.json, .nv-meta/. What somebody edited there is kept, with a
/// warning.
void publish_foreign_set(FileSystem& files, const std::string& folder, const ForeignKinds& kinds,
                         std::vector<ForeignShard> shards, Context& ctx);

/// Writes the per-shard indexes of shards that a manifest describes, `threads` at a time, and when they are the whole
/// set those of the set. What convert and its parts do before they publish their manifest.
void write_foreign_indexes(FileSystem& files, const std::string& folder, const std::vector<ManifestShard>& shards,
                           const ForeignKinds& kinds, bool whole_set, unsigned threads, Context& ctx);

}  // namespace shardkit
