#include "catalog/shard_set.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "catalog/image_source.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/folder.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "formats/plan_file.hpp"
#include "formats/tar_header.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "io/run_file.hpp"

namespace fs = std::filesystem;

namespace shardkit::catalog {
namespace {

constexpr std::string_view kAccepted =
    "a folder of *.tar files, a tar, a pattern x-{000..146}.tar, a list of paths (*.txt) or a wids index (*.json), "
    "local or at an s3:// or http(s):// URL";

/// What a split archive's parts are called: one name and a counter, such as "x.tar.0" or "x.tar.gz.aa".
struct PartName {
  std::string_view archive;
  std::string_view counter;
};

std::optional<PartName> part_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const PartName part{name.substr(0, dot), name.substr(dot + 1)};
  const auto all = [&](char first, char last) {
    return std::ranges::all_of(part.counter, [&](char c) { return c >= first && c <= last; });
  };
  const bool is_archive = part.archive.ends_with(".tar") || is_compressed_tar_name(part.archive);
  const bool counts = !part.counter.empty() && part.counter.size() <= 4 && (all('0', '9') || all('a', 'z'));
  return is_archive && counts && !is_compressed_tar_name(name) ? std::optional(part) : std::nullopt;
}

/// Whether a file starts as an archive of its own.
bool starts_archive(const std::string& path) {
  std::array<std::byte, formats::kTarBlock> block{};
  const Bytes start = Bytes(block).first(io::FileSource(path).read_at(0, block));
  formats::TarHeader header;
  return !formats::compression_name(start).empty() ||
         (start.size() == block.size() && formats::read_tar_header(start, header) == formats::TarHeaderState::good);
}

/// Throws Error{usage} with the command that joins them for a part of a split archive: the others are beside it.
void refuse_part_of_archive(const std::string& path) {
  const fs::path file(path);
  const std::string name = file.filename();
  const auto given = part_name(name);
  if (!given) return;
  std::error_code ignored;
  std::vector<std::string> parts;
  for (const FolderEntry& entry : folder_entries(io::parent_folder(path), ignored)) {
    const auto part = part_name(entry.name);
    if (part && part->archive == given->archive && !entry.is_folder()) parts.push_back(entry.path());
  }
  // 9 before 10, as their lengths are
  std::ranges::sort(parts, {}, [](const std::string& part) { return std::pair(part.size(), part); });
  if (parts.size() < 2 || starts_archive(parts[1])) return;
  std::string words;
  for (const std::string& part : parts) words += shell_word(part) + ' ';
  throw Error(ErrorCode::usage, At{path}, "'{}' is one of {} parts of a split archive: `cat {}>{}` puts them together",
              path, parts.size(), words, shell_word(io::join_path(io::parent_folder(path), given->archive)));
}

/// Turns operands into shards.
class ShardFinder {
 public:
  ShardFinder(FolderTars tars, Inputs& inputs) : tars_(tars), inputs_(inputs) {}

  void add(const NamedInput& named) {
    of_folder_ = of_folder_ || named.location.is_folder();
    if (named.location.is_folder()) return add_folder(named);
    if (named.path == named.named_by && !is_tar_name(named.path.substr(0, named.path.find("?...")))) {
      throw Error(ErrorCode::usage, At{named.path}, "'{}' is not {}", named.path, kAccepted);
    }
    named.location.kind == ObjectLocation::Kind::local ? add_shard(named.path, named.named_by) : add_object(named);
  }

  std::vector<ShardFile> take() {
    measure_objects();
    return std::move(shards_);
  }
  /// Those in the given folders, which were skipped because they cannot be read by offset.
  const std::vector<std::string>& compressed() const { return compressed_; }
  bool of_folder() const { return of_folder_; }
  const std::vector<std::string>& empty_folders() const { return empty_folders_; }

 private:
  void add_folder(const NamedInput& named) {
    const std::size_t passed_over = compressed_.size();
    bool has_shards = false;
    if (named.location.kind == ObjectLocation::Kind::web) {
      has_shards = add_by_manifest(named);
    } else if (named.location.kind == ObjectLocation::Kind::bucket) {
      for (const io::ObjectInfo& object : inputs_.list(named.location)) {
        if (!is_wanted(named.path, object.name)) continue;
        add_once(named.path + object.name, object.size);
        has_shards = true;
      }
    } else {
      for (const std::string& name : tar_names_in(named.path)) {
        if (!is_wanted(named.path, name)) continue;
        add_listed(io::join_path(named.path, name));
        has_shards = true;
      }
    }
    if (has_shards) return;
    std::string folder = io::parent_folder(io::join_path(named.path.substr(0, named.path.find("?...")), "x"));
    if (compressed_.size() > passed_over || !is_of_set(folder))
      refuse_folder(named.path, compressed_.size() > passed_over);
    empty_folders_.push_back(std::move(folder));
  }

  /// Whether one of our commands writes a set there, or has.
  bool is_of_set(const std::string& folder) {
    const auto has = [&](const std::string& name) { return inputs_.exists(io::join_path(folder, name)); };
    if (has(formats::plan_path(0)) || (is_address(folder) ? has(formats::kUploadRecord) : has(formats::kStateFolder)))
      return true;
    return find_manifest(inputs_, folder).has_value();
  }

  /// Whether a name in a folder is that of a shard; a compressed one may be passed over.
  bool is_wanted(const std::string& folder, const std::string& name) {
    if (name.starts_with('.')) return false;
    if (!is_compressed_tar_name(name)) return name.ends_with(".tar");
    if (tars_ == FolderTars::plain) compressed_.push_back(io::join_path(folder, name));
    return tars_ == FolderTars::all;
  }

  /// Listed shards that do not exist are left out: verify reports them. False if none exists.
  bool add_by_manifest(const NamedInput& named) {
    std::vector<std::string> addresses;
    for (ShardFile& shard : shards_by_manifest(named, inputs_)) addresses.push_back(std::move(shard.path));
    const auto found = inputs_.find_all(addresses);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i]) add_once(addresses[i], found[i]->size);
    }
    return std::ranges::any_of(found, [](const auto& object) { return object.has_value(); });
  }

  /// Its size is requested with those of all others.
  void add_object(const NamedInput& named) {
    if (!seen_.insert(named.path).second) return;
    unmeasured_.push_back({shards_.size(), named.named_by});
    shards_.push_back({named.path, object_name(named.path), 0});
  }

  void measure_objects() {
    std::vector<std::string> addresses;
    for (const Unmeasured& item : unmeasured_) addresses.push_back(shards_[item.shard].path);
    const auto found = inputs_.find_all(addresses);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) refuse_absent(addresses[i], unmeasured_[i].named_by);
      shards_[unmeasured_[i].shard].bytes = found[i]->size;
    }
  }

  [[noreturn]] static void refuse_absent(const std::string& path, const std::string& named_by) {
    throw Error(ErrorCode::not_found, At{path}, "shard '{}', listed by '{}', does not exist", path, named_by);
  }

  /// The file name of an object by its address without secrets.
  static std::string object_name(const std::string& address) {
    const ObjectLocation location = parse_location(address);
    return decoded(location, location.path.substr(location.folder().path.size()));
  }

  [[noreturn]] void refuse_folder(const std::string& folder, bool holds_compressed) const {
    if (!holds_compressed) {
      const std::vector<std::string> sets = sets_in(folder);
      throw Error(ErrorCode::not_found, At{folder}, "folder '{}' contains no *.tar file{}", folder,
                  sets.empty() ? std::string() : fmt::format("; '{}' does: give the folder of each set", sets.front()));
    }
    throw Error(ErrorCode::unsupported, At{folder},
                "folder '{}' contains only compressed tars such as '{}', which do not allow random access; {} writes "
                "plain shards of their samples",
                folder, compressed_.back(), remedy::in_text(remedy::reshard_unread({folder})));
  }

  void add_shard(const std::string& path, const std::string& named_by) {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(path, error);
    if (!error) refuse_part_of_archive(path);
    if (error == std::errc::no_such_file_or_directory) refuse_absent(path, named_by);
    if (error) refuse_special_file(path);
    if (error) throw system_error(error.value(), "read as a shard", path);
    add_once(path, bytes);
  }

  /// A name in a folder: a fault of it is a finding about the set.
  void add_listed(const std::string& path) {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(path, error);
    if (error) refuse_special_file(path);
    add_once(path, error ? 0 : bytes);
  }

  void add_once(const std::string& path, std::uint64_t bytes) {
    if (is_address(path)) {
      if (seen_.insert(path).second) shards_.push_back({path, object_name(path), bytes});
      return;
    }
    const fs::path absolute = fs::absolute(path).lexically_normal();
    if (seen_.insert(absolute.string()).second) shards_.push_back({path, absolute.filename().string(), bytes});
  }

  struct Unmeasured {
    std::size_t shard;
    std::string named_by;
  };

  const FolderTars tars_;
  Inputs& inputs_;
  std::vector<ShardFile> shards_;
  std::vector<Unmeasured> unmeasured_;
  std::vector<std::string> compressed_;
  bool of_folder_ = false;
  std::vector<std::string> empty_folders_;
  std::set<std::string> seen_;
};

/// The folder that all shards lie in, as the first one names it; empty when they lie in several.
std::string common_folder(const std::vector<ShardFile>& shards) {
  const auto folder_of = [](const ShardFile& shard) -> fs::path {
    if (is_address(shard.path)) return io::parent_folder(shard.path);
    return fs::absolute(shard.path).lexically_normal().parent_path();
  };
  const fs::path first = folder_of(shards.front());
  const bool same =
      std::all_of(shards.begin(), shards.end(), [&](const auto& shard) { return folder_of(shard) == first; });
  return same ? io::parent_folder(shards.front().path) : std::string();
}

}  // namespace

std::uint64_t ShardSet::bytes() const {
  std::uint64_t sum = 0;
  for (const ShardFile& shard : shards) sum += shard.bytes;
  return sum;
}

namespace {

/// Whether a command writes a set there, which may have no tar yet, or no plan.
bool is_begun(const std::string& folder) {
  std::error_code none;
  if (fs::exists(io::join_path(folder, formats::plan_path(0)), none)) return true;
  const fs::directory_iterator state(io::join_path(folder, formats::kStateFolder), none);
  return std::any_of(state, {}, [](const auto& entry) { return io::is_run_name(entry.path().native()); });
}

}  // namespace

std::vector<std::string> sets_in(const std::string& folder) {
  std::vector<std::string> sets;
  std::error_code unknown;
  if (!fs::is_directory(folder, unknown)) return sets;
  const auto is_tar = [](const ListedEntry& entry) {
    return entry.kind == EntryKind::file && entry.name.ends_with(".tar");
  };
  const auto is_of_set = [&](const ListedEntry& entry) {
    return is_tar(entry) || entry.name == formats::kManifestName;
  };
  const std::vector<ListedEntry> entries = list_folder(folder);
  if (std::ranges::any_of(entries, is_tar)) return sets;
  for (const ListedEntry& entry : entries) {
    if (entry.kind == EntryKind::file || is_hidden_or_system(entry.name)) continue;
    const std::string path = io::join_path(folder, entry.name);
    if (is_begun(path) || std::ranges::any_of(list_folder(path), is_of_set)) sets.push_back(path);
  }
  return sets;
}

void refuse_folder_of_sets(const std::string& operand,
                           const std::function<std::string(const std::string&, const std::string&)>& command) {
  if (is_address(operand)) return;
  const std::vector<std::string> sets = sets_in(operand);
  if (sets.empty()) return;
  std::string commands;
  for (const std::string& set : sets)
    commands += fmt::format("{}`{}`", commands.empty() ? "" : ", ", command(set, fs::path(set).filename()));
  throw Error(ErrorCode::usage, At{operand}, "'{}' has the sets of a split, which stay apart: use {}", operand,
              commands);
}

std::vector<std::string> tar_names_in(const std::string& folder) {
  std::vector<ListedEntry> entries = list_folder(folder);
  const std::set<std::string> added = shards_being_added(folder);  // after those that are listed
  std::vector<std::string> names;
  for (ListedEntry& entry : entries) {
    const bool is_tar = entry.name.ends_with(".tar") || is_compressed_tar_name(entry.name);
    if (is_tar && entry.kind == EntryKind::file && !entry.name.starts_with('.') && !added.contains(entry.name))
      names.push_back(std::move(entry.name));
  }
  return names;
}

std::set<std::string> shards_being_added(const std::string& folder) try {
  std::uint64_t number = 1;
  while (fs::exists(io::join_path(folder, formats::plan_path(number)))) ++number;
  const std::string added = io::join_path(io::join_path(folder, formats::append_path(number)), formats::kManifestName);
  std::set<std::string> names;
  if (!fs::exists(added)) return names;
  const std::string manifest = io::join_path(folder, formats::kManifestName);
  for (auto& shard : formats::read_manifest(io::read_text_file(added), added).shards)
    names.insert(std::move(shard.name));
  for (const auto& shard : formats::read_manifest(io::read_text_file(manifest), manifest).shards)
    names.erase(shard.name);
  return names;
} catch (const Error&) {  // it has just ended, or is damaged: then it has listed nothing
  return {};
}

std::vector<ShardFile> shards_by_manifest(const NamedInput& folder, Inputs& inputs) {
  const std::string address = folder.path.substr(0, folder.path.find("?..."));
  const auto manifest = find_manifest(inputs, address);
  if (!manifest) inputs.list(folder.location);  // reports that there is no listing, and what to do
  std::vector<ShardFile> shards;
  for (const formats::ManifestShard& shard : manifest.value().shards) {
    shards.push_back({address + shard.name, shard.name, shard.bytes});
  }
  return shards;
}

formats::Manifest read_set_manifest(std::string_view text, const std::string& path) {
  try {
    return formats::read_manifest(text, path);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt) throw;
    const std::string anew = is_address(path)
                                 ? std::string()
                                 : fmt::format(", or use {}, which gives up class names and original paths",
                                               remedy::in_text(remedy::index_replace(io::parent_folder(path))));
    throw Error(error.code(), At{path}, "{}; restore it from a copy{}", error.what(), anew);
  }
}

std::optional<formats::Manifest> find_manifest(Inputs& inputs, const std::string& folder) {
  const std::string path = io::join_path(folder, formats::kManifestName);
  if (!inputs.exists(path)) return std::nullopt;
  const std::string text = inputs.text(path);
  if (formats::is_foreign_manifest(text)) return std::nullopt;
  return read_set_manifest(text, path);
}

FolderManifests manifests_by_folder(const ShardSet& set) {
  FolderManifests manifests;
  const auto add = [&](const std::string& folder) {
    const auto [found, is_new] = manifests.try_emplace(folder);
    if (is_new) found->second = set.folder.empty() ? find_manifest(*set.inputs, found->first) : set.manifest;
  };
  for (const ShardFile& shard : set.shards) add(io::parent_folder(shard.path));
  std::ranges::for_each(set.empty_folders, add);
  return manifests;
}

std::vector<const formats::ManifestShard*> listed_shards(const ShardSet& set, const FolderManifests& manifests) {
  using Name = std::pair<std::string_view, std::string_view>;  // folder and shard
  std::map<Name, const formats::ManifestShard*> by_name;
  for (const auto& [folder, manifest] : manifests) {
    if (!manifest) continue;
    for (const formats::ManifestShard& shard : manifest->shards) by_name.emplace(Name(folder, shard.name), &shard);
  }
  std::vector<const formats::ManifestShard*> listed;
  for (const ShardFile& shard : set.shards) {
    const auto found = by_name.find(Name(io::parent_folder(shard.path), shard.name));
    listed.push_back(found == by_name.end() ? nullptr : found->second);
  }
  return listed;
}

bool is_tar_name(std::string_view name) {
  return name.ends_with(".tar") || name.find(".tar.") != std::string_view::npos || is_compressed_tar_name(name);
}

bool is_compressed_tar_name(std::string_view name) {
  constexpr std::array endings{".tgz",     ".tar.gz", ".tar.zst", ".tar.zstd", ".tzst",
                               ".tar.bz2", ".tar.xz", ".txz",     ".tar.lz4",  ".tbz2"};
  return std::ranges::any_of(endings, [&](const char* ending) { return name.ends_with(ending); });
}

ShardSet resolve_shards(const std::vector<std::string>& operands, Context& context, const StoreAccess& access,
                        FolderTars tars) {
  if (operands.empty()) throw usage_error("no shards were given; use {}", kAccepted);
  ShardSet set;
  set.inputs = std::make_shared<Inputs>(access, context);
  ShardFinder finder(tars, *set.inputs);
  for (const NamedInput& named : resolve_operands(operands, *set.inputs)) finder.add(named);
  set.shards = finder.take();
  set.of_folder = finder.of_folder();
  set.empty_folders = finder.empty_folders();
  if (set.empty_folders.empty()) set.folder = common_folder(set.shards);
  if (set.shards.empty() && set.empty_folders.size() == 1) set.folder = set.empty_folders.front();
  const std::string manifest = io::join_path(set.folder, formats::kManifestName);
  if (!set.folder.empty()) set.manifest = find_manifest(*set.inputs, set.folder);
  if (set.manifest) set.manifest_path = manifest;
  if (set.of_folder && !set.folder.empty() && !set.manifest && set.inputs->exists(manifest))
    context.warn("foreign_manifest", "'{}' is not a shardkit manifest; the shards are read without it", manifest);
  if (const std::vector<std::string>& compressed = finder.compressed(); !compressed.empty()) {
    context.warn("compressed_passed_over", "'{}'{} compressed and skipped; {} reads such tars and writes plain ones",
                 compressed.front(),
                 compressed.size() == 1 ? std::string(" is") : fmt::format(" and {} more are", compressed.size() - 1),
                 remedy::in_text(remedy::reshard_unread(operands)));
  }
  return set;
}

}  // namespace shardkit::catalog
