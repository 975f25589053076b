#include "catalog/shard_set.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "catalog/set_listing.hpp"
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
  ShardFinder(SetVerb verb, FolderTars tars, Inputs& inputs, Context& context)
      : verb_(verb), tars_(tars), inputs_(inputs), context_(context) {}

  void add(const NamedInput& named) {
    of_folder_ = of_folder_ || named.location.is_folder();
    if (named.location.is_folder()) return add_folder(named);
    if (named.path == named.named_by && !is_tar_name(named.path.substr(0, named.path.find("?...")))) {
      throw Error(ErrorCode::usage, At{named.path}, "'{}' is not {}", named.path, kAccepted);
    }
    if (operands_.empty() || operands_.back() != named.named_by) operands_.push_back(named.named_by);
    named.location.kind == ObjectLocation::Kind::local ? add_shard(named.path, named.named_by) : add_object(named);
  }

  std::vector<ShardFile> take() {
    measure_objects();
    return std::move(shards_);
  }
  /// Those in the given folders, which were skipped because they cannot be read by offset.
  const std::vector<std::string>& compressed() const { return compressed_; }
  bool of_folder() const { return of_folder_; }
  std::vector<SeenSet> take_seen() { return std::move(seen_sets_); }
  std::vector<std::string> take_operands() { return std::move(operands_); }

 private:
  void add_folder(const NamedInput& named) {
    const bool reads_all = verb_ == SetVerb::verify || verb_ == SetVerb::read || verb_ == SetVerb::salvage;
    SeenSet seen = look_at(inputs_, named, {.groups = true, .shards = reads_all});
    if (named.location.kind == ObjectLocation::Kind::web && (seen.as<Empty>() || seen.as<Files>()))
      inputs_.list(named.location);  // reports that there is no listing, and what to do
    const auto* foreign = seen.as<Foreign>();
    if (foreign != nullptr && seen.tars.empty() && tars_ == FolderTars::plain) refuse_compressed(seen);
    enforce(verb_, seen, context_);
    if (!seen.as<Group>()) {
      operands_.push_back(named.named_by);
      return add_seen(std::move(seen));
    }
    for (GroupMember& member : seen.members) {
      operands_.push_back(member.seen.folder);
      add_seen(std::move(member.seen));
    }
  }

  void add_seen(SeenSet seen) {
    const bool takes_all = verb_ == SetVerb::verify || (verb_ >= SetVerb::index && verb_ <= SetVerb::replace);
    std::vector<Listing::File> tars = takes_all ? seen.shards_and_extra() : seen.shards();
    for (const std::string& name : seen.packed) {
      tars_ == FolderTars::all ? tars.push_back({name}) : compressed_.push_back(io::join_path(seen.folder, name));
    }
    std::ranges::sort(tars, {}, &Listing::File::name);
    for (const Listing::File& tar : tars) {
      const std::string path = io::join_path(seen.folder, tar.name);
      tar.bytes ? add_once(path, *tar.bytes) : add_named(path, path);
    }
    seen_sets_.push_back(std::move(seen));
  }

  void add_named(const std::string& path, const std::string& named_by) {
    is_address(path) ? add_object({parse_location(path), path, named_by}) : add_shard(path, named_by);
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

  [[noreturn]] static void refuse_compressed(const SeenSet& seen) {
    throw Error(ErrorCode::unsupported, At{seen.folder},
                "folder '{}' contains only compressed tars such as '{}', which do not allow random access; {} writes "
                "plain shards of their samples",
                seen.folder, io::join_path(seen.folder, seen.packed.back()),
                remedy::in_text(remedy::reshard_unread({seen.folder})));
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

  const SetVerb verb_;
  const FolderTars tars_;
  Inputs& inputs_;
  Context& context_;
  std::vector<ShardFile> shards_;
  std::vector<Unmeasured> unmeasured_;
  std::vector<std::string> compressed_;
  bool of_folder_ = false;
  std::vector<SeenSet> seen_sets_;
  std::vector<std::string> operands_;
  std::set<std::string> seen_;
};

/// The folder that all shards lie in, as the first one names it; empty when they lie in several.
std::string common_folder(const ShardSet& set) {
  const auto resolved = [](const std::string& path) {
    return is_address(path) ? path : fs::absolute(io::join_path(path, "")).lexically_normal().string();
  };
  std::string common;
  const auto is_common = [&](const std::string& folder) {
    if (common.empty()) common = folder;
    return folder == common || resolved(folder) == resolved(common);
  };
  const bool same =
      std::ranges::all_of(set.seen, is_common, &SeenSet::folder) &&
      std::ranges::all_of(set.shards, [&](const ShardFile& shard) { return is_common(io::parent_folder(shard.path)); });
  return same ? common : std::string();
}

}  // namespace

std::uint64_t ShardSet::bytes() const {
  std::uint64_t sum = 0;
  for (const ShardFile& shard : shards) sum += shard.bytes;
  return sum;
}

const SeenSet* ShardSet::seen_in(const std::string& path) const {
  const auto found = std::ranges::find(seen, path, &SeenSet::folder);
  return found == seen.end() ? nullptr : &*found;
}

std::optional<formats::Manifest> find_manifest(Inputs& inputs, const std::string& folder) try {
  const std::string path = io::join_path(folder, formats::kManifestName);
  if (!inputs.exists(path)) return std::nullopt;
  const std::string text = inputs.text(path);
  if (formats::is_foreign_manifest(text)) return std::nullopt;
  return formats::read_manifest(text, path);
} catch (const Error& error) {
  if (error.code() != ErrorCode::corrupt) throw;
  return std::nullopt;
}

FolderManifests manifests_by_folder(const ShardSet& set) {
  FolderManifests manifests;
  for (const SeenSet& seen : set.seen) manifests.emplace(seen.folder, seen.manifest);
  for (const ShardFile& shard : set.shards) {
    const auto [found, is_new] = manifests.try_emplace(io::parent_folder(shard.path));
    if (is_new) found->second = set.folder.empty() ? find_manifest(*set.inputs, found->first) : set.manifest;
  }
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

ShardSet resolve_shards(const std::vector<std::string>& operands, SetVerb verb, Context& context,
                        const StoreAccess& access, FolderTars tars) {
  if (operands.empty()) throw usage_error("no shards were given; use {}", kAccepted);
  ShardSet set;
  set.inputs = std::make_shared<Inputs>(access, context);
  ShardFinder finder(verb, tars, *set.inputs, context);
  for (const NamedInput& named : resolve_operands(operands, *set.inputs)) finder.add(named);
  set.shards = finder.take();
  set.of_folder = finder.of_folder();
  set.seen = finder.take_seen();
  set.operands = finder.take_operands();
  set.folder = common_folder(set);
  if (const SeenSet* seen = set.seen_in(set.folder)) {
    set.manifest = seen->manifest;
  } else if (!set.folder.empty()) {
    set.manifest = find_manifest(*set.inputs, set.folder);
  }
  if (set.manifest) set.manifest_path = io::join_path(set.folder, formats::kManifestName);
  if (const std::vector<std::string>& compressed = finder.compressed(); !compressed.empty()) {
    context.warn("compressed_passed_over", "'{}'{} compressed and skipped; {} reads such tars and writes plain ones",
                 compressed.front(),
                 compressed.size() == 1 ? std::string(" is") : fmt::format(" and {} more are", compressed.size() - 1),
                 remedy::in_text(remedy::reshard(operands)));
  }
  return set;
}

}  // namespace shardkit::catalog
