#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fnmatch.h>
#include <unistd.h>

#include "core/error.hpp"
#include "formats/index_kinds.hpp"
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

/// The files beside a shard for its readers.
std::vector<std::string> companions(const std::string& shard) {
  std::vector<std::string> names;
  for (const formats::IndexKind& kind : formats::index_kinds()) {
    if (kind.shard_file != nullptr) names.push_back(kind.shard_file(shard));
  }
  return names;
}

}  // namespace

void StageSet::filter(const StageRequest& wanted, const std::string& location) {
  if (wanted.include.empty() && wanted.exclude.empty()) return;
  const auto is_wanted = [&](const std::string& name) {
    const auto matches = [&](const std::string& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; };
    return (wanted.include.empty() || std::ranges::any_of(wanted.include, matches)) &&
           std::ranges::none_of(wanted.exclude, matches);
  };
  const std::vector<std::string> before = names();
  for (const auto* patterns : {&wanted.include, &wanted.exclude}) {
    std::ranges::copy_if(*patterns, std::back_inserter(unused_patterns_), [&](const std::string& pattern) {
      return std::ranges::none_of(before,
                                  [&](const auto& name) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
    });
  }
  keep(is_wanted);
  std::erase_if(objects_, [&](const io::ObjectInfo& object) { return !is_wanted(object.name); });
  std::ranges::copy_if(before, std::back_inserter(left_out_), std::not_fn(is_wanted));
  if (!names().empty()) return;
  throw Error(ErrorCode::not_found, At{location},
              "--include and --exclude leave no file of '{}'; patterns match whole names, such as 'train/*'", location);
}

/// Keeps the listed shards for which `is_kept` is true, and their indexes.
void StageSet::keep(const std::function<bool(const std::string& shard)>& is_kept) {
  std::unordered_set<std::string> gone;
  for (ManifestSet& set : sets_) {
    const auto erased = std::erase_if(set.shards, [&](const formats::ManifestShard& shard) {
      if (is_kept(set.folder + shard.name)) return false;
      for (const std::string& name : companions(shard.name)) gone.insert(set.folder + name);
      return true;
    });
    is_part_ = is_part_ || erased > 0;
    std::erase_if(set.files, [&](const auto& file) { return gone.contains(set.folder + file.name); });
  }
  std::erase_if(objects_, [&](const io::ObjectInfo& object) { return gone.contains(object.name); });
  std::erase_if(sets_, [](const ManifestSet& set) { return set.shards.empty(); });
}

void StageSet::keep_shards(const std::vector<std::string>& kept) {
  const std::unordered_set<std::string_view> names(kept.begin(), kept.end());
  std::unordered_set<std::string> gone;
  for (const ShardGroup& group : groups()) {
    for (const std::string& shard : group.shards) {
      if (!names.contains(shard)) gone.insert(shard);
    }
  }
  keep([&](const std::string& shard) { return !gone.contains(shard); });
  for (const std::string& shard : std::vector(gone.begin(), gone.end())) {
    for (std::string& companion : companions(shard)) gone.insert(std::move(companion));
  }
  std::erase_if(objects_, [&](const io::ObjectInfo& object) { return gone.contains(object.name); });
}

std::uint64_t StageSet::manifest_bytes() const {
  std::uint64_t sum = 0;
  for (const ManifestSet& set : sets_) sum += set.text.size();
  return sum;
}

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
