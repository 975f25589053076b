#pragma once

#include <string>
#include <string_view>

#include "formats/index_kinds.hpp"

/// The index that NVIDIA DALI's `fn.readers.webdataset` reads, version 1.2 (DALI tools/wds2idx.py and
/// webdataset_loader.cc): a line "v1.2 <samples>", then per sample a line of "<extension> <offset> <size> <name>" per
/// member, extensions as spelled in the shard, offsets of contents.
namespace shardkit::formats {

/// The index's usual name for a shard: its name up to the first dot, and ".idx". Two shards may get the same.
std::string dali_index_name(std::string_view shard);

/// Its row of index_kinds().
IndexKind dali_index_kind();

}  // namespace shardkit::formats
