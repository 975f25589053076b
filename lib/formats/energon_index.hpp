#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/bytes.hpp"
#include "formats/index_kinds.hpp"

/// What Megatron-Energon reads beside the shards, as `energon prepare` 7.4.1 writes it (flavors/webdataset: itar.py,
/// prepare.py): "<shard>.idx" per tar, and in ".nv-meta" a count per shard, the split and the type of the samples.
/// index.sqlite is left out: reading in order does not ask for it.
namespace shardkit::formats {

inline constexpr const char* kEnergonFolder = ".nv-meta";
inline constexpr const char* kEnergonInfoName = ".nv-meta/.info.json";
inline constexpr const char* kEnergonSplitName = ".nv-meta/split.yaml";
inline constexpr const char* kEnergonDatasetName = ".nv-meta/dataset.yaml";
/// The release whose formats these are.
inline constexpr const char* kEnergonVersion = "7.4.1";

/// "<shard>.idx": where each sample's first record starts, and last where the archive's content ends.
std::string energon_index_name(std::string_view shard);
/// Appends one such offset: 8 bytes, little-endian.
void write_energon_offset(ByteSink& sink, std::uint64_t offset);

/// `.info.json`: names and numbers of samples, in the order that numbers the shards.
std::string write_energon_info(const std::vector<std::pair<std::string, std::uint64_t>>& shards);

/// `split.yaml`: all shards are in "train"; "val" and "test" are empty.
std::string write_energon_split(const std::vector<std::string>& shards);

/// `dataset.yaml` for classified images: image members with any of these extensions, labels in "cls".
std::string write_energon_dataset(const std::set<std::string>& image_extensions);

/// Its row of index_kinds().
IndexKind energon_index_kind();

}  // namespace shardkit::formats
