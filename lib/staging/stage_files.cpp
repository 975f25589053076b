#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "core/error.hpp"
#include "formats/shard_index.hpp"
#include "staging/stage_set.hpp"
#include "sync/task_group.hpp"

namespace shardkit::staging {
namespace {

constexpr unsigned kLookUps = 32;  // at a time

/// Indexes can be made again from the shards, so a server that hides or denies them does not fail a stage.
bool is_offered(io::ObjectSource& source, StageFile& index) try {
  const auto found = source.find(index.object.name);
  if (found && !index.hash) index.object = *found;
  const bool is_denied = ::access(source.address_of(index.object.name).c_str(), R_OK) != 0 && errno == EACCES;
  return found.has_value() && !is_denied;  // a local file, which is not opened yet
} catch (const Error& error) {
  if (error.code() != ErrorCode::denied) throw;
  return false;
}

/// Of that version. Empty also if the store does not answer: the copy will show whether it has the object.
std::optional<Checksum> find_checksum(io::ObjectSource& source, const io::ObjectInfo& object) try {
  const auto now = source.find(object.name);
  return now && now->version == object.version ? now->checksum : std::nullopt;
} catch (const Error& error) {
  if (error.code() == ErrorCode::cancelled) throw;
  return std::nullopt;
}

/// The MD5 in an ETag of 32 digits; empty for others, such as those of uploads in parts.
std::optional<Checksum> md5_in(std::string_view etag) {
  Hash128 value;
  if (etag.size() != 34 || !parse_hex(etag.substr(1, 32), value)) return std::nullopt;
  return Checksum{ChecksumKind::md5, to_hex(value)};
}

}  // namespace

std::vector<StageFile> StageSet::unlisted(io::ObjectSource& source, bool use_etags, const std::stop_token& stop) const {
  std::vector<StageFile> files;
  for (const io::ObjectInfo& object : objects_) files.push_back({object, {}, {}});
  if (source.knows_checksums()) {
    sync::for_each_index(files.size(), kLookUps, stop, [&](std::size_t at, std::size_t) {
      io::ObjectInfo& object = files[at].object;
      if (!object.checksum) object.checksum = find_checksum(source, object);
    });
  }
  for (StageFile& file : files) {
    if (use_etags && !file.object.checksum) file.object.checksum = md5_in(file.object.version);
  }
  return files;
}

std::vector<StageFile> StageSet::files(io::ObjectSource& source, bool use_etags, const std::stop_token& stop) const {
  std::vector<StageFile> files = unlisted(source, use_etags, stop);
  std::vector<StageFile> indexes;
  for (const ManifestSet& set : sets_) {
    for (const formats::ManifestShard& shard : set.shards) {
      files.push_back({{set.folder + shard.name, shard.bytes, {}}, shard.xxh3_128, {}, shard.parts});
      indexes.push_back({{set.folder + formats::shard_index_path(shard.name), 0, {}}, {}, shard});
    }
    for (const formats::ManifestFile& file : set.files)
      indexes.push_back({{set.folder + file.name, file.bytes, {}}, file.xxh3_128, {}});
  }
  std::vector<char> offered(indexes.size());
  sync::for_each_index(indexes.size(), kLookUps, stop,
                       [&](std::size_t at, std::size_t) { offered[at] = is_offered(source, indexes[at]) ? 1 : 0; });
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    if (offered[i] != 0) files.push_back(std::move(indexes[i]));
  }
  return files;
}

}  // namespace shardkit::staging
