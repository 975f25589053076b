#pragma once

#include <string>

#include "catalog/shard_set.hpp"
#include "core/bytes.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_parser.hpp"

/// Faults of sets and their shards, in the words of all verbs.
namespace shardkit::catalog {

/// The summary of our index of a shard. Throws Error{corrupt} unless the index may replace the shard's headers: it can
/// be read, names this shard with its size, and agrees with what the manifest lists, if it does. `path` is the index's.
/// `whole`: all of it is compared with its checksum.
formats::ShardSummary fitting_summary(ByteSource& index, const std::string& path, const ShardFile& shard,
                                      const formats::ManifestShard* listed = nullptr, bool whole = false);

/// Warns that an index is not used, and why.
void warn_of_index(const std::string& shard_path, const Error& why, Context& context);

/// Warns of a fault of a shard, with the command that lists all. Once for each shard is enough.
void warn_of_damage(const std::string& shard_path, const formats::TarFinding& finding, Context& context);

}  // namespace shardkit::catalog
