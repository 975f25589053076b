#include "staging/stage_set.hpp"

#include <algorithm>
#include <array>
#include <atomic>
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
#include "catalog/set_rules.hpp"
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
constexpr unsigned kLookUps = 32;  // at a time

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

/// A path below a source: the folder of its set, empty or with a slash at its end, and the name there.
struct NameInSet {
  std::string_view folder;
  std::string_view name;
};

constexpr std::string_view kState = ".shardkit/";

NameInSet name_in_set(std::string_view path) {
  const bool is_state_of_top = path.starts_with(kState);
  std::size_t slash = is_state_of_top ? path.npos : path.find("/.shardkit/");
  if (slash == path.npos && !is_state_of_top) slash = path.rfind('/');
  return {path.substr(0, slash + 1), path.substr(slash + 1)};  // npos + 1 is 0
}

/// The path of a name in a folder, from which "../" leads upwards.
std::string path_in(std::string folder, std::string_view name) {
  for (; name.starts_with("../"); name.remove_prefix(3)) {
    folder.pop_back();
    folder.resize(folder.rfind('/') + 1);
  }
  return folder.append(name);
}

bool is_shard(std::string_view name) { return name.ends_with(".tar"); }

/// Whether a file of this name makes its folder one to look at.
bool may_be_of_set(std::string_view name) {
  return name.starts_with(kState) || is_shard(name) || name == formats::kManifestName;
}

/// What is below a source.
struct SourceFiles {
  std::vector<io::ObjectInfo> objects = {};
  std::vector<std::string> unmeasured = {};  ///< names of others
  bool is_whole = true;                      ///< else the source cannot list
};

/// Of a folder with a manifest only the names: asking for the sizes of thousands of shards costs more.
SourceFiles names_beside_manifest(io::ObjectSource& source) {
  SourceFiles all;
  const auto is_needed = [](std::string_view folder) {
    return folder.starts_with(".shardkit/append-") || folder == formats::kUploadsFolder || !folder.starts_with(kState);
  };
  for (const char* folder : {"", formats::kStateFolder}) {
    for (std::string& name : source.names_in(folder)) {
      if (!name.ends_with('/')) {
        all.unmeasured.push_back(std::move(name));
      } else if (is_needed(name)) {
        name.pop_back();
        std::ranges::move(source.list(name), std::back_inserter(all.objects));
      }
    }
  }
  return all;
}

/// Empty also for one that may not be looked up.
std::optional<io::ObjectInfo> find_if_allowed(io::ObjectSource& source, const std::string& name) try {
  return source.find(name);
} catch (const Error& error) {
  if (error.code() != ErrorCode::denied) throw;
  return std::nullopt;
}

/// Of a web server, what tells the state of a set.
SourceFiles records_of(io::ObjectSource& source, const std::stop_token& stop) {
  const std::array<std::string, 5> names{formats::kManifestName, formats::plan_path(0), kStageJournalPath,
                                         kStagedMarkerPath, formats::kUploadRecord};
  std::array<std::optional<io::ObjectInfo>, names.size()> found;
  sync::for_each_index(names.size(), names.size(), stop,
                       [&](std::size_t at, std::size_t) { found[at] = find_if_allowed(source, names[at]); });
  SourceFiles all{.is_whole = false};
  for (auto& object : found) {
    if (object) all.objects.push_back(*std::move(object));
  }
  return all;
}

SourceFiles files_below(io::ObjectSource& source, bool has_manifest, const std::stop_token& stop) try {
  if (is_http_url(source.location())) return records_of(source, stop);
  if (has_manifest && !catalog::is_address(source.location())) return names_beside_manifest(source);
  SourceFiles all{source.list()};
  std::ranges::sort(all.objects, {}, &io::ObjectInfo::name);  // several sources list one after the other
  return all;
} catch (const Error& error) {
  if (error.code() != ErrorCode::denied || !has_manifest) throw;
  return records_of(source, stop);  // who may not list may read what the manifest lists
}

/// With what is known of all of them by now, by name. Looks up few single objects, instead of listing all.
std::vector<io::ObjectInfo> measured(io::ObjectSource& source, SourceFiles all, const std::stop_token& stop) {
  constexpr std::size_t kFew = 64;
  if (all.unmeasured.size() > kFew) {
    all.objects = source.list();
  } else {
    for (auto& object : catalog::find_all(source, all.unmeasured, stop)) {
      if (object) all.objects.push_back(*std::move(object));
    }
  }
  std::ranges::sort(all.objects, {}, &io::ObjectInfo::name);
  return std::move(all.objects);
}

using Listings = std::map<std::string, catalog::Listing, std::less<>>;  // by folder

/// Whether a stage into a folder above brought the files of this one. The listings above are complete.
void find_stage_above(const Listings& listings, const std::string& folder, catalog::Listing& listing) {
  std::string up;
  for (std::string above = folder; !above.empty();) {
    above = path_in(above, "../");
    up += "../";
    const auto found = listings.find(above);
    if (found == listings.end() || !found->second.has(kStageJournalPath)) continue;
    listing.staged_in = {up, folder.substr(above.size()), found->second.has(kStagedMarkerPath)};
    return;
  }
}

/// The folders that are sets, or will be, and the source itself if it is one: what is directly in each, and its
/// records.
Listings listings_of(const io::ObjectSource& source, const SourceFiles& all, bool is_set) {
  Listings listings;
  if (is_set) listings.try_emplace("");
  const auto each_file = [&](const auto& take) {
    const auto take_path = [&](const std::string& path, std::optional<std::uint64_t> bytes) {
      if (!io::is_temp_name(std::string_view(path).substr(path.rfind('/') + 1))) take(name_in_set(path), bytes);
    };
    for (const io::ObjectInfo& object : all.objects) take_path(object.name, object.size);
    for (const std::string& name : all.unmeasured) take_path(name, std::nullopt);
  };
  each_file([&](const NameInSet& in_set, auto) {
    if (may_be_of_set(in_set.name)) listings.try_emplace(std::string(in_set.folder));
  });
  each_file([&](const NameInSet& in_set, std::optional<std::uint64_t> bytes) {
    const auto found = listings.find(in_set.folder);
    if (found != listings.end()) found->second.files.push_back({std::string(in_set.name), bytes});
  });
  for (auto& [folder, listing] : listings) {
    listing.folder = folder.empty() ? source.location() : source.address_of(folder.substr(0, folder.size() - 1));
    listing.is_whole = all.is_whole;
    std::ranges::sort(listing.files, {}, &catalog::Listing::File::name);
    find_stage_above(listings, folder, listing);
  }
  return listings;
}

/// Another manifest than that of the source decides what it should have: no plan knows about that one.
void replace_manifest(catalog::Listing& listing) {
  std::erase_if(listing.files, [](const catalog::Listing::File& file) {
    return file.name == formats::kManifestName || file.name.starts_with(".shardkit/plan") ||
           file.name.starts_with(".shardkit/append-");
  });
  listing.files.push_back({formats::kManifestName});
  std::ranges::sort(listing.files, {}, &catalog::Listing::File::name);
}

/// Adds the sizes of the shards to a listing that has only their names, or not even these. One of which the store does
/// not answer counts as there: the copy will show whether it is.
void measure(io::ObjectSource& source, const ManifestSet& set, catalog::Listing& listing, const std::stop_token& stop) {
  std::vector<std::optional<io::ObjectInfo>> found(set.shards.size());
  std::atomic<bool> is_answering = true;
  sync::for_each_index(found.size(), kLookUps, stop, [&](std::size_t at, std::size_t) {
    const formats::ManifestShard& shard = set.shards[at];
    found[at] = io::ObjectInfo{shard.name, shard.bytes, {}};
    try {
      if (is_answering) found[at] = source.find(set.folder + shard.name);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::denied) throw;
      if (error.code() == ErrorCode::network) is_answering = false;
    }
  });
  std::unordered_set<std::string_view> names;
  for (const formats::ManifestShard& shard : set.shards) names.insert(shard.name);
  std::erase_if(listing.files, [&](const catalog::Listing::File& file) { return names.contains(file.name); });
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string& name = set.shards[i].name;
    found[i] ? listing.files.push_back({name, found[i]->size}) : void(listing.absent.insert(name));
  }
  std::ranges::sort(listing.files, {}, &catalog::Listing::File::name);
}

/// Looks at a folder of the source. `manifest`: its text, if it has one of ours.
catalog::SeenSet look_at(io::ObjectSource& source, const std::string& folder, const catalog::Listing& listing,
                         const std::optional<std::string>& manifest, const std::stop_token& stop) {
  return catalog::look(listing, [&](const std::string& name) -> std::unique_ptr<ByteSource> {
    if (manifest && name == formats::kManifestName) return std::make_unique<MemorySource>(as_bytes(*manifest));
    const std::string path = path_in(folder, name);
    const auto object = source.find(path);
    if (!object) throw missing_error(source, path);
    return std::make_unique<io::ObjectReader>(std::shared_ptr<io::ObjectSource>(std::shared_ptr<void>(), &source),
                                              *object, stop);
  });
}

/// What commands are writing, or have left, is not part of a set: the folder of an --append, temporary files, records
/// of runs and of stages.
bool is_of_command(const std::string& name) {
  const std::string_view record = name_in_set(name).name;
  return io::is_temp_name(std::string_view(name).substr(name.rfind('/') + 1)) || StageTarget::is_own_state(name) ||
         record.starts_with(".shardkit/append-") || record.starts_with(".shardkit/extract") ||
         (record.starts_with(kState) && io::is_run_name(record));
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

/// Indexes can be made again from the shards, so a server that hides or denies them does not fail a stage.
bool is_offered(io::ObjectSource& source, StageFile& index) {
  const auto found = find_if_allowed(source, index.object.name);
  if (found && !index.hash) index.object = *found;
  const bool is_denied = ::access(source.address_of(index.object.name).c_str(), R_OK) != 0 && errno == EACCES;
  return found.has_value() && !is_denied;  // a local file, which is not opened yet
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

StageSet::StageSet(io::ObjectSource& source, const StageRequest& wanted, Context& context) {
  const std::stop_token& stop = context.stop_token();
  std::optional<std::string> manifest;
  std::string path = wanted.manifest_path;
  if (!path.empty()) {
    manifest = wanted.manifest_text;
  } else if (!wanted.manifest_name.empty()) {
    path = source.address_of(wanted.manifest_name);
    manifest = text_of(source, wanted.manifest_name, stop);
    if (!manifest && !wanted.names) refuse_unlisted(path);
  }
  if (wanted.names) {
    if (manifest) sets_.emplace_back("", *manifest, formats::read_manifest(*manifest, path));
    take_named(source, *wanted.names, stop);
  } else {
    take_all(source, wanted, std::move(manifest), context);
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
void StageSet::take_all(io::ObjectSource& source, const StageRequest& wanted, std::optional<std::string> manifest,
                        Context& context) {
  SourceFiles all = files_below(source, manifest.has_value(), context.stop_token());
  std::unordered_set<std::string> known;  // those of sets, and tars beside their shards
  if (wanted.use_manifests) {
    Listings listings = listings_of(source, all, manifest.has_value());
    if (!wanted.manifest_path.empty()) replace_manifest(listings[""]);
    for (auto& [folder, listing] : listings) {
      take_folder(source, folder, std::move(listing), folder.empty() ? std::move(manifest) : std::nullopt, known,
                  context);
    }
  }
  if (!all.is_whole && !has_manifest()) source.list();  // reports that there is no listing, and what to do
  for (ExpectedFile& file : expected()) known.insert(std::move(file.name));
  std::unordered_set<std::string_view> folders;
  for (const ManifestSet& set : sets_) folders.insert(set.folder);
  const auto is_known = [&](const std::string& name) {
    const NameInSet in_set = name_in_set(name);
    return known.contains(name) || is_of_command(name) ||
           (in_set.name.starts_with(kState) && folders.contains(in_set.folder));
  };
  std::erase_if(all.unmeasured, is_known);
  objects_ = measured(source, std::move(all), context.stop_token());
  std::erase_if(objects_, [&](const io::ObjectInfo& object) { return is_known(object.name); });
  if (objects_.empty() && !has_manifest())
    throw Error(ErrorCode::not_found, At{source.location()}, "'{}' contains no files", source.location());
}

/// Takes the set of a folder, if it is one. `known` gets the tars that are not its shards, with their indexes.
void StageSet::take_folder(io::ObjectSource& source, const std::string& folder, catalog::Listing listing,
                           std::optional<std::string> manifest, std::unordered_set<std::string>& known,
                           Context& context) {
  const bool is_of_several = folder.empty() && !manifest;  // that of one source is known before
  if (!manifest && listing.has(formats::kManifestName))
    manifest = text_of(source, folder + formats::kManifestName, context.stop_token());
  catalog::SeenSet seen = look_at(source, folder, listing, manifest, context.stop_token());
  if (is_of_several) seen.extra.clear();  // they are of another source
  const bool lacks_shards = seen.as<catalog::Incomplete>() != nullptr;
  const bool is_said = seen.as<catalog::Foreign>() != nullptr && has_foreign_;
  if (!seen.as<catalog::Empty>() && !lacks_shards && !is_said) enforce(catalog::SetVerb::copy, seen, context);
  has_foreign_ = has_foreign_ || seen.as<catalog::Foreign>() != nullptr;
  if (!seen.manifest) return;
  std::unordered_set<std::string_view> shards;
  for (const formats::ManifestShard& shard : seen.manifest->shards) shards.insert(shard.name);
  for (const catalog::Listing::File& tar : seen.tars) {
    if (is_of_several || shards.contains(tar.name)) continue;
    known.insert(folder + tar.name);
    for (const std::string& name : companions(tar.name)) known.insert(folder + name);
  }
  const auto has_size = [](const catalog::Listing::File& tar) { return tar.bytes.has_value(); };
  const bool is_measured = listing.is_whole && std::ranges::all_of(seen.tars, has_size);
  if (lacks_shards || !is_measured) unproven_.push_back({folder, std::move(listing), is_measured});
  sets_.emplace_back(folder, *std::move(manifest), *std::move(seen.manifest));
}

void StageSet::require_shards(io::ObjectSource& source, Context& context) {
  for (Unproven& known : unproven_) {
    const auto set = std::ranges::find(sets_, known.folder, &ManifestSet::folder);
    if (set == sets_.end()) continue;  // none of its shards is wanted
    if (!known.is_measured) measure(source, *set, known.listing, context.stop_token());
    const catalog::SeenSet seen = look_at(source, known.folder, known.listing, set->text, context.stop_token());
    if (seen.as<catalog::Incomplete>()) enforce(catalog::SetVerb::copy, seen, context);
  }
  unproven_.clear();
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
