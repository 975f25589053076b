#include "dataset/stage_set.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include <fmt/format.h>

#include "core/error.hpp"
#include "dataset/stage_target.hpp"
#include "formats/dali_index.hpp"
#include "formats/energon_index.hpp"
#include "formats/shard_index.hpp"
#include "formats/tsv.hpp"
#include "formats/wids_index.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kLargestManifest = 1ULL << 30U;

std::string manifest_text(ObjectSource& source, const std::string& manifest) {
  if (!manifest.empty()) return read_text_file(manifest, kLargestManifest);
  const auto object = source.find(kManifestName);
  if (object) return fetch_text(source, *object, kLargestManifest, {});
  throw Error(
      ErrorCode::not_found,
      fmt::format("'{}' has no {}, so nothing says which bytes are right; make one with 'shardctl index {}', or "
                  "copy without checksums by --manifest none",
                  source.location(), kManifestName, source.location()),
      join_path(source.location(), kManifestName));
}

/// All files but those that a stage into the source itself left.
std::vector<ObjectInfo> listed_files(ObjectSource& source) {
  std::vector<ObjectInfo> listed = source.list();
  std::erase_if(listed, [](const ObjectInfo& object) { return StageTarget::is_own_state(object.name); });
  if (!listed.empty()) return listed;
  throw Error(ErrorCode::not_found, fmt::format("'{}' holds no files", source.location()), source.location());
}

Hash128 hash_of(const std::vector<ObjectInfo>& listed) {
  Xxh3Stream hash;
  for (const ObjectInfo& object : listed) {
    std::string line;
    append_escaped(line, object.name);
    line += fmt::format("\t{}\t{}\n", object.size, object.version);
    hash.update(as_bytes(line));
  }
  return hash.digest();
}

}  // namespace

std::string StageFile::pin() const {
  if (hash) return to_hex(*hash);
  // A shard's checksum belongs to its index's pin: an index of other bytes must not be taken over.
  return indexed ? fmt::format("{}/{}", to_hex(indexed->xxh3_128), object.version) : object.version;
}

StageSet::StageSet(ObjectSource& source, const std::string& manifest) {
  if (manifest == "none") {
    listed_ = listed_files(source);
    hash_ = hash_of(listed_);
    return;
  }
  manifest_text_ = shardkit::manifest_text(source, manifest);
  manifest_ = read_manifest(manifest_text_, manifest.empty() ? join_path(source.location(), kManifestName) : manifest);
  hash_ = xxh3_128(as_bytes(manifest_text_));
}

std::vector<StageFile> StageSet::files(ObjectSource& source) const {
  std::vector<StageFile> files;
  for (const ObjectInfo& object : listed_) files.push_back({object, {}, {}});
  for (const ManifestShard& shard : manifest_.shards)
    files.push_back({{shard.name, shard.bytes, {}}, shard.xxh3_128, {}});
  for (const ManifestShard& shard : manifest_.shards) {
    const std::string name = shard_index_path(shard.name);
    const auto object = source.find(name);
    if (!object) {
      throw Error(ErrorCode::not_found,
                  fmt::format("'{}' has no index of shard '{}'; make it with 'shardctl index {}'", source.location(),
                              shard.name, source.location()),
                  join_path(source.location(), name));
    }
    files.push_back({*object, {}, shard});
  }
  for (const ObjectInfo& index : foreign_indexes(source)) {
    if (const auto object = source.find(index.name)) files.push_back({*object, {}, {}});
  }
  return files;
}

std::vector<ObjectInfo> StageSet::foreign_indexes(ObjectSource& source) const {
  if (!has_manifest()) return {};  // listed with all else
  std::vector<std::string> there = source.names_in("");
  std::ranges::move(source.names_in(parent_folder(kEnergonInfoName)), std::back_inserter(there));
  std::unordered_set<std::string> of_shards;
  for (const ManifestShard& shard : manifest_.shards) {
    of_shards.insert({dali_index_name(shard.name), energon_index_name(shard.name)});
  }
  std::vector<ObjectInfo> found;
  std::ranges::sort(there);
  for (const std::string& name : there) {
    if (of_shards.contains(name)) found.push_back({name, 0, {}});
    const bool of_set =
        name == kWidsIndexName || name == kEnergonInfoName || name == kEnergonSplitName || name == kEnergonDatasetName;
    if (!of_set) continue;
    if (auto object = source.find(name)) found.push_back(std::move(*object));
  }
  return found;
}

}  // namespace shardkit
