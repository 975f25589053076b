#pragma once

#include <string>
#include <vector>

#include "core/context.hpp"
#include "dataset/index/foreign_shard.hpp"
#include "formats/manifest.hpp"

/// Indexes for other readers, of shards that a manifest describes already.
namespace shardkit {

/// Writes the per-shard indexes of one shard that its manifest describes, and returns what those of the set say about
/// it. They come from our own index where a convert wrote it, else from the tar's headers. `kinds.wids` takes the MD5
/// that was kept, or reads the tar, keeps it, and throws Error{corrupt} when the bytes are not the manifest's.
ForeignShard index_known_shard(FileSystem& files, const std::string& folder, const ManifestShard& shard,
                               const ForeignKinds& kinds, Context& ctx);

/// The same for all `shards`, `threads` at a time, in their order.
std::vector<ForeignShard> index_known_shards(FileSystem& files, const std::string& folder,
                                             const std::vector<ManifestShard>& shards, const ForeignKinds& kinds,
                                             unsigned threads, Context& ctx);

/// Keeps a shard's MD5 for later.
void keep_md5(FileSystem& files, const std::string& folder, const ManifestShard& shard, const std::string& md5);

}  // namespace shardkit
