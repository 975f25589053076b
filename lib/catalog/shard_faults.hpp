#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/shard_set.hpp"
#include "core/bytes.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_parser.hpp"

/// Faults of sets and their shards, in the words of all verbs.
namespace shardkit::catalog {

/// That `writer`, such as "upload", has not finished `folder`, and how it is continued. `state`: how far it is.
std::string unfinished(std::string_view writer, const std::string& folder, std::string_view state = {});

/// What to do about shards that are gone.
inline constexpr std::string_view kRestoreShards = "restore them from a copy, or make the set again";
/// That these shards, which the manifest of `folder` lists, are not there.
std::string missing_from(const std::string& folder, const std::vector<std::string>& shards);

/// The summary of our index of a shard. Throws Error{corrupt} unless the index may replace the shard's headers: it can
/// be read, names this shard with its size, and agrees with what the manifest lists, if it does. `path` is the index's.
formats::ShardSummary fitting_summary(ByteSource& index, const std::string& path, const ShardFile& shard,
                                      const formats::ManifestShard* listed = nullptr);

/// Warns that an index is not used, and why.
void warn_of_index(const std::string& shard_path, const Error& why, Context& context);

/// Warns of a fault of a shard, with the command that lists all. Once for each shard is enough.
void warn_of_damage(const std::string& shard_path, const formats::TarFinding& finding, Context& context);

}  // namespace shardkit::catalog
