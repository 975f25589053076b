#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "formats/manifest.hpp"

/// `.shardkit/<shard>.md5` (docs/formats.md, "Other files"): a shard's MD5, which a wids index asks for, kept so that
/// no shard is read again for it. Bound to the shard's size and XXH3-128, so that it never passes for another's.
namespace shardkit {

/// ".shardkit/<shard>.md5", relative to the folder of the shard.
std::string shard_md5_path(std::string_view shard);

/// One line: "shardkit-md5", version, shard, bytes, XXH3-128, MD5, parted by tabs. Takes the shard's name, size and
/// hash.
std::string write_shard_md5(const ManifestShard& shard, std::string_view md5);

/// The MD5 that `text` holds for this very shard; empty when it is damaged or another's: then it is made anew.
std::optional<std::string> read_shard_md5(std::string_view text, const ManifestShard& shard);

}  // namespace shardkit
