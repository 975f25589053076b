#include "staging/stage_set.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include "catalog/object_location.hpp"
#include "catalog/object_set.hpp"
#include "catalog/shard_faults.hpp"
#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/fields.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "formats/index_kinds.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "formats/shard_index.hpp"
#include "formats/tsv.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "io/run_file.hpp"
#include "staging/stage_target.hpp"
#include "sync/task_group.hpp"

namespace shardkit::staging {
namespace {

constexpr std::uint64_t kLargestManifest = 1ULL << 30U;

Error missing_error(const io::ObjectSource& source, const std::string& name) {
  const std::string path = source.address_of(name);
  return {ErrorCode::not_found, At{path}, "'{}' is missing", path};
}

/// Empty without one: another program's is a file like any.
std::optional<std::string> text_of(io::ObjectSource& source, const std::string& name, const std::stop_token& stop) {
  const auto object = source.find(name);
  if (!object) throw missing_error(source, name);
  std::string text = io::fetch_text(source, *object, kLargestManifest, stop);
  return formats::is_foreign_manifest(text) ? std::nullopt : std::optional(std::move(text));
}

/// HTTP lists no files, so only a manifest of ours could.
void refuse_unlisted(const std::string& manifest) {
  if (!is_http_url(manifest)) return;
  throw Error(
      ErrorCode::unsupported, At{manifest},
      "'{}' is not a shardkit manifest, but another program's file or a page of the server; give the files as a "
      "pattern x-{{000..146}}.tar or a list (*.txt), because HTTP has no listing",
      manifest);
}

/// Names of a target's own state files: a list or a pattern may name them in a staged folder.
void refuse_own_state(const std::vector<std::string>& names, const io::ObjectSource& source) {
  const auto found = std::ranges::find_if(names, &StageTarget::is_own_state);
  if (found == names.end()) return;
  const std::string path = source.address_of(*found);
  throw Error(ErrorCode::unsupported, At{path},
              "'{}' is a name that stage uses itself; leave it out of the files to stage", path);
}

/// Whether the folder lacks shards of its plan. One of which every sample was left out has only an index.
bool lacks_planned_shards(io::ObjectSource& source, const io::ObjectInfo& plan, const std::string& folder,
                          const std::function<bool(const std::string&)>& exists, const std::stop_token& stop) try {
  io::ObjectReader bytes({std::shared_ptr<void>(), &source}, plan, stop);
  const formats::PlanReader reader(bytes, source.address_of(plan.name));
  for (std::size_t i = 0; i < reader.shards().size(); ++i) {
    const std::string shard = reader.shard_name(i);
    if (!exists(folder + shard) && !exists(folder + formats::shard_index_path(shard))) return true;
  }
  return false;
} catch (const Error& error) {
  if (error.code() != ErrorCode::corrupt) throw;
  return true;
}

/// A file in a folder that shows what writes the folder, and the file that shows that it has finished.
struct WriterMark {
  std::string_view mark;
  const char* finished;
  const char* verb;
  bool is_plan = false;  ///< it tells which shards the folder will have
};
constexpr std::array<WriterMark, 3> kWriterMarks{
    {{".shardkit/plan", formats::kManifestName, "convert or reshard", true},
     {kStageJournalPath, kStagedMarkerPath, "stage"},
     {formats::kUploadRecord, formats::kManifestName, "upload"}}};

/// A file in the state folder of a set.
struct StateFile {
  std::string_view set;   ///< folder of the set: empty, or with its slash
  std::string_view name;  ///< in the state folder
};

std::optional<StateFile> state_file(std::string_view path) {
  constexpr std::string_view kState = ".shardkit/";
  const std::size_t at = path.rfind(kState);
  if (at == std::string_view::npos || (at > 0 && path[at - 1] != '/')) return std::nullopt;
  return StateFile{path.substr(0, at), path.substr(at + kState.size())};
}

/// Of a process that works in a folder, or was killed there.
bool is_run(const io::ObjectInfo& object) { return io::is_run_name(object.name) && state_file(object.name); }

/// Whether a command has begun to write the folder, and has not even a plan.
bool is_only_begun(const std::vector<io::ObjectInfo>& objects, const std::string& folder) {
  return std::ranges::none_of(objects, [&](const io::ObjectInfo& object) {
    if (!object.name.starts_with(folder)) return false;
    const std::string_view name = std::string_view(object.name).substr(folder.size());
    return name.ends_with(".tar") || name == formats::kManifestName || name == kStageJournalPath ||
           name == kWriterMarks.front().mark;
  });
}

/// Whether parts were written to the folder, which merge has not joined.
bool has_parts(const std::vector<io::ObjectInfo>& objects, const std::string& folder) {
  return std::ranges::any_of(objects, [&](const io::ObjectInfo& object) {
    const auto state = state_file(object.name);
    return state && state->set == folder && formats::is_part_name(state->name);
  });
}

/// For folders that a convert, reshard, stage or upload has not finished: a stage would copy what they have so far.
void refuse_unfinished(io::ObjectSource& source, const std::vector<io::ObjectInfo>& objects,
                       const std::stop_token& stop) {
  const auto exists = [&](const std::string& name) {
    return std::ranges::binary_search(objects, name, {}, &io::ObjectInfo::name);
  };
  const auto path_of = [&](const std::string& folder) {
    return folder.empty() ? source.location() : source.address_of(folder);
  };
  for (const io::ObjectInfo& object : objects) {
    if (is_run(object)) {
      const std::string folder(state_file(object.name)->set);
      if (!is_only_begun(objects, folder)) continue;
      const std::string path = path_of(folder);
      throw Error(ErrorCode::conflict, At{path}, "{}", catalog::unfinished("convert or reshard", path));
    }
    const auto writer =
        std::ranges::find_if(kWriterMarks, [&](const WriterMark& known) { return object.name.ends_with(known.mark); });
    if (writer == kWriterMarks.end()) continue;
    const std::string folder = object.name.substr(0, object.name.size() - writer->mark.size());
    if ((!folder.empty() && !folder.ends_with('/')) || exists(folder + writer->finished)) continue;
    const std::string path = path_of(folder);
    if (writer->is_plan && !lacks_planned_shards(source, object, folder, exists, stop)) {
      if (!has_parts(objects, folder)) continue;
      throw Error(ErrorCode::conflict, At{path}, "the parts of '{}' are not joined: {} does that", path,
                  remedy::in_text(remedy::merge(path)));
    }
    throw Error(ErrorCode::conflict, At{path}, "{}, or name the shards to stage",
                catalog::unfinished(writer->verb, path));
  }
}

/// What a command is writing, or has left, is not part of a set: the folder of an --append, temporary files.
bool is_being_written(const io::ObjectInfo& object) {
  const std::string path = "/" + object.name;
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return path.find("/.shardkit/append-") != std::string::npos || path.find("/.shardkit/extract") != std::string::npos ||
         io::is_temp_name(name);
}

Hash128 hash_of(std::vector<io::ObjectInfo> objects) {
  std::ranges::sort(objects, {}, &io::ObjectInfo::name);
  Xxh3Stream hash;
  for (const io::ObjectInfo& object : objects) {
    std::string line;
    formats::append_escaped(line, object.name);
    line += fmt::format("\t{}\t{}\n", object.size, object.version);
    hash.update(as_bytes(line));
  }
  return hash.digest();
}

constexpr std::string_view kPinnedChecksum = " checksum ";

bool is_shard(std::string_view name) { return name.ends_with(".tar"); }

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

/// The files beside a shard for its readers.
std::vector<std::string> companions(const std::string& shard) {
  std::vector<std::string> names;
  for (const formats::IndexKind& kind : formats::index_kinds()) {
    if (kind.shard_file != nullptr) names.push_back(kind.shard_file(shard));
  }
  return names;
}

/// The shards that an --append has moved into the set, and the files beside them, before the manifest lists them.
std::vector<std::string> names_being_added(const io::ObjectSource& source, const ManifestSet& set) {
  std::vector<std::string> names;
  const std::string manifest = source.address_of(set.name());
  if (catalog::is_address(manifest)) return names;
  for (const std::string& shard : catalog::shards_being_added(io::parent_folder(manifest))) {
    names.push_back(set.folder + shard);
    for (const std::string& name : companions(shard)) names.push_back(set.folder + name);
  }
  return names;
}

}  // namespace

std::string StageFile::pin() const {
  if (hash) return to_hex(*hash);
  // A shard's checksum belongs to its index's pin: an index of other bytes must not be taken over.
  if (indexed) return fmt::format("{}/{}", to_hex(indexed->xxh3_128), object.version);
  // Bytes that were only compared by size are not taken over as compared with a checksum.
  if (!object.checksum) return object.version;
  return fmt::format("{}{}{} {}", object.version, kPinnedChecksum, enum_name(object.checksum->kind),
                     object.checksum->digits);
}

bool is_same_version(std::string_view pin, std::string_view version) {
  return pin.starts_with(version) &&
         (pin.size() == version.size() || pin.substr(version.size()).starts_with(kPinnedChecksum));
}

io::ObjectInfo find_at_source(io::ObjectSource& source, const StageFile& file) {
  auto object = source.find(file.object.name);
  if (file.hash && (!object || object->size != file.object.size)) {
    source.bypass_caches(file.object.name);  // which may have an older one
    object = source.find(file.object.name);
  }
  if (!file.hash) {
    if (!object) throw missing_error(source, file.object.name);
    return *std::move(object);
  }
  if (object && object->size == file.object.size) return *std::move(object);
  const std::string path = source.address_of(file.object.name);
  const std::string fault = object
                                ? fmt::format("has {} bytes, but the manifest lists {}", object->size, file.object.size)
                                : "is missing, but the manifest lists it";
  throw Error(object ? ErrorCode::corrupt : ErrorCode::not_found,
              fmt::format("'{}' {}; {}", path, fault, advice_for_source(path)), path);
}

std::string advice_for_source(const std::string& path) {
  const std::string folder = io::parent_folder(path);
  const std::string cached =
      is_http_url(path) ? ", or empty a cache on the way that has it or its manifest.json from before" : "";
  // No shard: the set around it says how to make it again.
  if (folder.ends_with(fmt::format("/{}", formats::kStateFolder))) {
    return fmt::format("restore it at the source{}; {} says how to make it again", cached,
                       remedy::in_text(remedy::verify({io::parent_folder(folder)})));
  }
  const remedy::Named set = {folder};
  return fmt::format(
      "restore it at the source{}; {} lists all that is damaged there, and {} writes a set of what is left", cached,
      remedy::in_text(remedy::verify(set)), remedy::in_text(remedy::reshard(set, {.salvage = true})));
}

StageSet::StageSet(io::ObjectSource& source, const StageRequest& wanted, const std::stop_token& stop) {
  if (!wanted.manifest_path.empty()) {
    add_set("", wanted.manifest_text, wanted.manifest_path);
  } else if (!wanted.manifest_name.empty()) {
    auto text = text_of(source, wanted.manifest_name, stop);
    if (!text && !wanted.names) refuse_unlisted(source.address_of(wanted.manifest_name));
    if (text) add_set("", std::move(*text), source.address_of(wanted.manifest_name));
  }
  if (wanted.names) {
    take_named(source, *wanted.names, stop);
  } else {
    take_all(source, wanted, stop);
  }
  for (ExpectedFile& file : expected()) whole_.push_back(std::move(file.name));
  std::ranges::sort(whole_);
  filter(wanted, source.location());
  const std::vector<std::string> names = this->names();
  catalog::check_names(names, source.location());
  refuse_own_state(names, source);
  all_objects_ = objects_;
  hash_ = compute_hash();
}

void StageSet::add_set(const std::string& folder, std::string manifest, const std::string& path) {
  formats::Manifest parsed = catalog::read_set_manifest(manifest, path);
  sets_.emplace_back(folder, std::move(manifest), std::move(parsed));
}

/// Those that the manifest lists, and the others as they are. Throws if the source has none of them.
void StageSet::take_named(io::ObjectSource& source, const std::vector<std::string>& names,
                          const std::stop_token& stop) {
  order_ = names;
  std::vector<std::string> others = names;
  if (has_manifest()) {
    std::vector<formats::ManifestShard>& shards = sets_.front().shards;
    const std::unordered_set<std::string_view> wanted(names.begin(), names.end());
    const std::size_t all = shards.size();
    for (const formats::ManifestShard& shard : shards) whole_.push_back(shard.name);
    std::erase_if(shards, [&](const formats::ManifestShard& shard) { return !wanted.contains(shard.name); });
    is_part_ = shards.size() < all;
    std::unordered_set<std::string_view> listed;
    for (const formats::ManifestShard& shard : shards) listed.insert(shard.name);
    std::erase_if(others, [&](const std::string& name) { return listed.contains(name); });
    std::erase(others, formats::kManifestName);
  }
  const auto found = catalog::find_all(source, others, stop);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) {
      objects_.push_back(*found[i]);
    } else {
      missing_.try_emplace(others[i], missing_error(source, others[i]));
    }
  }
  if (missing_.size() == names.size()) throw Error(missing_.at(others.front()));
  std::erase_if(order_, [&](const std::string& name) { return missing_.contains(name); });
}

/// All files below the source, by their manifests if they have one.
void StageSet::take_all(io::ObjectSource& source, const StageRequest& wanted, const std::stop_token& stop) {
  std::vector<io::ObjectInfo> objects = has_manifest() ? list_unlisted(source, stop) : source.list();
  std::ranges::sort(objects, {}, &io::ObjectInfo::name);  // several sources list one after the other
  std::erase_if(objects, is_being_written);
  if (wanted.use_manifests) refuse_unfinished(source, objects, stop);
  std::erase_if(objects, is_run);
  std::erase_if(objects, [](const io::ObjectInfo& object) { return StageTarget::is_own_state(object.name); });
  if (objects.empty() && !has_manifest()) {
    throw Error(ErrorCode::not_found, At{source.location()}, "'{}' contains no files", source.location());
  }
  if (wanted.use_manifests) find_sets(source, objects, stop);
  std::unordered_set<std::string> covered;
  for (ExpectedFile& file : expected()) covered.insert(std::move(file.name));
  const auto is_of_set = [&](const io::ObjectInfo& object) {
    const auto is_state = [&](const ManifestSet& set) {
      return object.name.starts_with(set.folder + formats::kStateFolder + std::string("/"));
    };
    return covered.contains(object.name) || std::ranges::any_of(sets_, is_state);
  };
  for (const ManifestSet& set : sets_) {
    for (std::string& name : names_being_added(source, set)) covered.insert(std::move(name));
  }
  for (io::ObjectInfo& object : objects) {
    if (!is_of_set(object)) objects_.push_back(std::move(object));
  }
}

/// What is directly beside the manifest, and below it, except what the manifest lists. Looks up few single objects: a
/// listing of thousands of shards with their sizes costs more than the names.
std::vector<io::ObjectInfo> StageSet::list_unlisted(io::ObjectSource& source, const std::stop_token& stop) {
  constexpr std::size_t kFew = 64;
  std::unordered_set<std::string> known{formats::kManifestName, formats::kStateFolder + std::string("/")};
  for (const formats::ManifestShard& shard : sets_.front().shards) known.insert(shard.name);
  for (const formats::ManifestFile& file : sets_.front().files) known.insert(file.name);
  std::vector<io::ObjectInfo> found;
  std::vector<std::string> others;
  for (std::string& name : source.names_in({})) {
    if (known.contains(name)) continue;
    if (name.ends_with('/')) {
      name.pop_back();
      std::ranges::move(source.list(name), std::back_inserter(found));
    } else {
      others.push_back(std::move(name));
    }
  }
  if (others.size() > kFew) return source.list();
  for (auto& object : catalog::find_all(source, others, stop)) {
    if (object) found.push_back(*std::move(object));
  }
  std::ranges::sort(found, {}, &io::ObjectInfo::name);
  return found;
}

/// Sets in folders below the source, and at the top of one of several sources.
void StageSet::find_sets(io::ObjectSource& source, const std::vector<io::ObjectInfo>& objects,
                         const std::stop_token& stop) {
  const std::string_view name = formats::kManifestName;
  const bool knows_top = has_manifest();
  for (const io::ObjectInfo& object : objects) {
    if (!object.name.ends_with(name)) continue;
    const std::string folder = object.name.substr(0, object.name.size() - name.size());
    if (folder.empty() ? knows_top : !folder.ends_with('/')) continue;
    if (folder.ends_with(std::string(formats::kStateFolder) + "/")) continue;
    auto text = text_of(source, object.name, stop);
    if (text) add_set(folder, std::move(*text), source.address_of(object.name));
  }
}

ManifestSet::ManifestSet(std::string where, std::string manifest, formats::Manifest parsed)
    : folder(std::move(where)),
      text(std::move(manifest)),
      hash(xxh3_128(as_bytes(text))),
      shards(std::move(parsed.shards)),
      files(std::move(parsed.files)),
      plan_hash(std::move(parsed.plan_hash)) {}

Hash128 hash_of_sets(const std::vector<ManifestSet>& sets) {
  if (sets.size() == 1 && sets.front().folder.empty()) return sets.front().hash;
  std::vector<io::ObjectInfo> manifests;
  for (const ManifestSet& set : sets) manifests.push_back({set.folder, 0, to_hex(set.hash)});
  return hash_of(std::move(manifests));
}

Hash128 StageSet::compute_hash() const { return sets_.empty() ? hash_of(all_objects_) : hash_of_sets(sets_); }

bool StageSet::are_shards_listed() const {
  return has_manifest() && std::ranges::none_of(objects_, [](const auto& object) { return is_shard(object.name); });
}

std::vector<std::string> StageSet::names() const {
  std::vector<std::string> names;
  for (const ManifestSet& set : sets_) {
    for (const formats::ManifestShard& shard : set.shards) names.push_back(set.folder + shard.name);
  }
  for (const io::ObjectInfo& object : objects_) names.push_back(object.name);
  return names;
}

std::vector<ShardGroup> StageSet::groups() const {
  std::unordered_map<std::string, std::uint64_t> samples;
  std::map<std::string, ShardGroup> groups;  // by folder
  for (const ManifestSet& set : sets_) {
    for (const formats::ManifestShard& shard : set.shards) {
      samples.emplace(set.folder + shard.name, shard.samples);
      if (order_.empty()) groups[set.folder].shards.push_back(set.folder + shard.name);
    }
  }
  std::ranges::copy_if(order_, std::back_inserter(groups[""].shards), is_shard);
  if (order_.empty() && !has_manifest()) {
    for (const io::ObjectInfo& object : objects_) {
      if (is_shard(object.name)) groups[io::parent_folder(object.name)].shards.push_back(object.name);
    }
  }
  std::vector<ShardGroup> all;
  for (auto& [folder, group] : groups) {
    if (group.shards.empty()) continue;
    group.folder = folder.substr(0, folder.find_last_not_of('/') + 1);
    const auto is_counted = [&](const std::string& shard) { return samples.contains(shard); };
    if (std::ranges::all_of(group.shards, is_counted)) {
      for (const std::string& shard : group.shards) group.samples.push_back(samples.at(shard));
    }
    all.push_back(std::move(group));
  }
  return all;
}

std::vector<ExpectedFile> StageSet::expected() const {
  std::vector<ExpectedFile> files;
  for (const ManifestSet& set : sets_) {
    files.push_back({set.name(), to_hex(set.hash)});
    for (const formats::ManifestShard& shard : set.shards) {
      files.push_back({set.folder + shard.name, to_hex(shard.xxh3_128)});
      files.push_back({set.folder + formats::shard_index_path(shard.name), {}});
    }
    for (const formats::ManifestFile& file : set.files)
      files.push_back({set.folder + file.name, to_hex(file.xxh3_128)});
  }
  for (const io::ObjectInfo& object : objects_) files.push_back({object.name, object.version});
  return files;
}

void StageSet::update(const std::vector<io::ObjectInfo>& changed) {
  for (auto* objects : {&objects_, &all_objects_}) {
    for (const io::ObjectInfo& now : changed) {
      const auto object = std::ranges::find(*objects, now.name, &io::ObjectInfo::name);
      if (object != objects->end()) *object = now;
    }
  }
  hash_ = compute_hash();
}

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

std::vector<StageFile> StageSet::unlisted(io::ObjectSource& source, const std::stop_token& stop) const {
  std::vector<StageFile> files;
  for (const io::ObjectInfo& object : objects_) files.push_back({object, {}, {}});
  if (source.knows_checksums()) {
    sync::for_each_index(files.size(), kLookUps, stop, [&](std::size_t at, std::size_t) {
      io::ObjectInfo& object = files[at].object;
      if (!object.checksum) object.checksum = find_checksum(source, object);
    });
  }
  return files;
}

std::vector<StageFile> StageSet::files(io::ObjectSource& source, const std::stop_token& stop) const {
  std::vector<StageFile> files = unlisted(source, stop);
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
