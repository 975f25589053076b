#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "formats/index_kinds.hpp"

/// The index that NVIDIA DALI's `fn.readers.webdataset` reads, version 1.2 (DALI tools/wds2idx.py and
/// webdataset_loader.cc): a line "v1.2 <samples>", then per sample a line of "<extension> <offset> <size> <name>" per
/// member, extensions as spelled in the shard, offsets of contents.
namespace shardkit::formats {

/// The index's usual name for a shard: its name up to the first dot, and ".idx". Two shards may get the same.
std::string dali_index_name(std::string_view shard);

/// One member as DALI's index names it.
struct DaliMember {
  std::string extension;     ///< as spelled in the shard
  std::uint64_t offset = 0;  ///< of its content
  std::uint64_t size = 0;
};

/// Reads an index of DALI's (formats/dali_index.hpp), versions 1.1 and 1.2, and hands each sample's members to
/// `sample`, in the order of the lines. Throws Error{corrupt} with the line's offset for anything else, more or fewer
/// samples than its head says included; `name` is for messages.
void read_dali_index(ByteSource& source, std::string_view name,
                     const std::function<void(const std::vector<DaliMember>&)>& sample);

/// Its row of index_kinds().
IndexKind dali_index_kind();

}  // namespace shardkit::formats
