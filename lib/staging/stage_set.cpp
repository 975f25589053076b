#include "staging/stage_set.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "catalog/object_location.hpp"
#include "catalog/object_set.hpp"
#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "formats/index_kinds.hpp"
#include "formats/shard_index.hpp"
#include "formats/tsv.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "staging/stage_target.hpp"

namespace shardkit::staging {
namespace {

constexpr std::uint64_t kLargestManifest = 1ULL << 30U;

[[noreturn]] void refuse_missing(const io::ObjectSource& source, const std::string& name) {
  const std::string path = source.address_of(name);
  throw Error(ErrorCode::not_found, fmt::format("'{}' is missing", path), path);
}

/// Empty without one: another program's is a file like any.
std::string text_of_manifest(io::ObjectSource& source, const StageWanted& wanted, const std::stop_token& stop) {
  if (!wanted.manifest_path.empty()) return wanted.manifest_text;
  if (wanted.manifest_name.empty()) return {};
  const auto object = source.find(wanted.manifest_name);
  if (!object) refuse_missing(source, wanted.manifest_name);
  std::string text = io::fetch_text(source, *object, kLargestManifest, stop);
  return formats::is_foreign_manifest(text) ? std::string() : text;
}

/// Those of `names`, or all files except those that a stage into the source itself left.
std::vector<io::ObjectInfo> objects_of(io::ObjectSource& source, const StageWanted& wanted,
                                       const std::stop_token& stop) {
  std::vector<io::ObjectInfo> objects;
  if (wanted.names) {
    const auto found = catalog::find_all(source, *wanted.names, stop);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) refuse_missing(source, (*wanted.names)[i]);
      objects.push_back(*found[i]);
    }
    return objects;
  }
  objects = source.list();
  std::erase_if(objects, [](const io::ObjectInfo& object) { return StageTarget::is_own_state(object.name); });
  if (!objects.empty()) return objects;
  throw Error(ErrorCode::not_found, fmt::format("'{}' contains no files", source.location()), source.location());
}

/// Names of a target's own state files: a list or a pattern may name them in a staged folder.
void refuse_own_state(const std::vector<std::string>& names, const io::ObjectSource& source) {
  const auto found = std::ranges::find_if(names, &StageTarget::is_own_state);
  if (found == names.end()) return;
  const std::string path = source.address_of(*found);
  throw Error(ErrorCode::unsupported,
              fmt::format("'{}' is a name that stage uses itself; leave it out of the files to stage", path), path);
}

Hash128 hash_of(const std::vector<io::ObjectInfo>& objects) {
  Xxh3Stream hash;
  for (const io::ObjectInfo& object : objects) {
    std::string line;
    formats::append_escaped(line, object.name);
    line += fmt::format("\t{}\t{}\n", object.size, object.version);
    hash.update(as_bytes(line));
  }
  return hash.digest();
}

bool is_shard(std::string_view name) { return name.ends_with(".tar"); }

/// The files beside a shard for its readers.
std::vector<std::string> companions(const std::string& shard) {
  std::vector<std::string> names;
  for (const formats::IndexKind& kind : formats::index_kinds()) {
    if (kind.shard_file != nullptr) names.push_back(kind.shard_file(shard));
  }
  return names;
}

}  // namespace

std::string StageFile::pin() const {
  if (hash) return to_hex(*hash);
  // A shard's checksum belongs to its index's pin: an index of other bytes must not be taken over.
  return indexed ? fmt::format("{}/{}", to_hex(indexed->xxh3_128), object.version) : object.version;
}

io::ObjectInfo find_at_source(io::ObjectSource& source, const StageFile& file) {
  auto object = source.find(file.object.name);
  if (!object) refuse_missing(source, file.object.name);
  if (object->size == file.object.size || !file.hash) return *std::move(object);
  const std::string path = source.address_of(file.object.name);
  throw Error(ErrorCode::corrupt,
              fmt::format("'{}' has {} bytes, but the manifest lists {}", path, object->size, file.object.size), path);
}

StageSet::StageSet(io::ObjectSource& source, const StageWanted& wanted, const std::stop_token& stop)
    : manifest_text_(text_of_manifest(source, wanted, stop)) {
  std::vector<std::string> names;
  if (has_manifest()) {
    const std::string path =
        wanted.manifest_path.empty() ? source.address_of(wanted.manifest_name) : wanted.manifest_path;
    shards_ = catalog::read_set_manifest(manifest_text_, path).shards;
    hash_ = xxh3_128(as_bytes(manifest_text_));
    for (ExpectedFile& file : expected()) whole_.push_back(std::move(file.name));
    if (wanted.names) select(*wanted.names, path);
    for (const formats::ManifestShard& shard : shards_) names.push_back(shard.name);
  } else {
    objects_ = objects_of(source, wanted, stop);
    std::ranges::sort(objects_, {}, &io::ObjectInfo::name);
    hash_ = hash_of(objects_);
    for (const io::ObjectInfo& object : objects_) names.push_back(object.name);
  }
  catalog::check_names(names, source.location());
  refuse_own_state(names, source);
  if (!has_manifest()) whole_ = names;
  std::ranges::sort(whole_);
}

/// Keeps the shards of these names.
void StageSet::select(const std::vector<std::string>& names, const std::string& manifest) {
  const std::set<std::string_view> wanted(names.begin(), names.end());
  std::erase_if(shards_, [&](const formats::ManifestShard& shard) { return !wanted.contains(shard.name); });
  if (shards_.size() == wanted.size()) return;
  throw Error(ErrorCode::not_found,
              fmt::format("'{}' lists {} of the {} given; leave out --manifest, or give the manifest of these shards",
                          manifest, shards_.size(), format_count(wanted.size(), "shard")),
              manifest);
}

std::map<std::string, std::uint64_t> StageSet::samples_by_shard() const {
  std::map<std::string, std::uint64_t> samples;
  for (const formats::ManifestShard& shard : shards_) samples.emplace(shard.name, shard.samples);
  for (const io::ObjectInfo& object : objects_) {
    if (is_shard(object.name)) samples.emplace(object.name, 1);
  }
  return samples;
}

std::vector<std::uint64_t> StageSet::samples_per_shard() const {
  std::vector<std::uint64_t> samples;
  for (const auto& [shard, count] : samples_by_shard()) samples.push_back(count);
  return samples;
}

void StageSet::keep_shards(const std::vector<std::size_t>& numbers) {
  std::set<std::string> gone;
  const std::set<std::size_t> kept(numbers.begin(), numbers.end());
  std::size_t number = 0;
  for (const auto& [shard, samples] : samples_by_shard()) {
    if (kept.contains(number++)) continue;
    gone.insert(shard);
    for (std::string& companion : companions(shard)) gone.insert(std::move(companion));
  }
  std::erase_if(shards_, [&](const formats::ManifestShard& shard) { return gone.contains(shard.name); });
  std::erase_if(objects_, [&](const io::ObjectInfo& object) { return gone.contains(object.name); });
}

std::vector<ExpectedFile> StageSet::expected() const {
  std::vector<ExpectedFile> files;
  if (has_manifest()) files.push_back({formats::kManifestName, to_hex(hash_)});
  for (const formats::ManifestShard& shard : shards_) {
    files.push_back({shard.name, to_hex(shard.xxh3_128)});
    files.push_back({formats::shard_index_path(shard.name), {}});
  }
  for (const io::ObjectInfo& object : objects_) files.push_back({object.name, object.version});
  return files;
}

void StageSet::update(const std::vector<io::ObjectInfo>& changed) {
  if (changed.empty() || has_manifest()) return;
  for (const io::ObjectInfo& now : changed) {
    const auto object = std::ranges::find(objects_, now.name, &io::ObjectInfo::name);
    if (object != objects_.end()) *object = now;
  }
  hash_ = hash_of(objects_);
}

std::vector<StageFile> StageSet::files(io::ObjectSource& source, const std::vector<io::ObjectInfo>& foreign,
                                       const std::stop_token& stop) const {
  std::vector<StageFile> files;
  for (const io::ObjectInfo& object : objects_) files.push_back({object, {}, {}});
  std::vector<std::string> names;
  for (const formats::ManifestShard& shard : shards_) {
    files.push_back({{shard.name, shard.bytes, {}}, shard.xxh3_128, {}});
    names.push_back(formats::shard_index_path(shard.name));
  }
  for (const io::ObjectInfo& index : foreign) names.push_back(index.name);
  const auto found = catalog::find_all(source, names, stop);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool is_ours = i < shards_.size();
    if (found[i]) files.push_back({*found[i], {}, is_ours ? std::optional(shards_[i]) : std::nullopt});
  }
  return files;
}

std::vector<io::ObjectInfo> StageSet::foreign_indexes(io::ObjectSource& source) const {
  if (!has_manifest()) return {};  // listed with all other files
  std::set<std::string> folders{""};
  std::unordered_set<std::string> of_shards;
  std::unordered_set<std::string> of_set;
  for (const formats::IndexKind& kind : formats::reader_index_kinds()) {
    for (const std::string& name : kind.set_files) {
      of_set.insert(name);
      if (const std::size_t slash = name.rfind('/'); slash != std::string::npos) folders.insert(name.substr(0, slash));
    }
    if (kind.shard_file == nullptr) continue;
    for (const formats::ManifestShard& shard : shards_) of_shards.insert(kind.shard_file(shard.name));
  }
  std::vector<std::string> there;
  for (const std::string& folder : folders) std::ranges::move(source.names_in(folder), std::back_inserter(there));
  std::vector<io::ObjectInfo> found;
  std::ranges::sort(there);
  for (const std::string& name : there) {
    if (of_shards.contains(name)) found.push_back({name, 0, {}});
    if (!of_set.contains(name)) continue;
    if (auto object = source.find(name)) found.push_back(std::move(*object));
  }
  return found;
}

}  // namespace shardkit::staging
