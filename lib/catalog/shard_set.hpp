#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "catalog/inputs.hpp"
#include "catalog/operands.hpp"
#include "core/context.hpp"
#include "formats/manifest.hpp"

namespace shardkit::catalog {

/// One tar to work on.
struct ShardFile {
  std::string path;  ///< to open it with ShardSet::inputs: a local path, or an address without secrets
  std::string name;  ///< file name, for reports and manifest look-up
  std::uint64_t bytes = 0;
};

/// The shards of a command line, and the manifest that describes them, if there is one.
struct ShardSet {
  std::vector<ShardFile> shards;              ///< in the given order; those of a folder by name; without duplicates
  bool of_folder = false;                     ///< an operand was a folder: all shards of its manifest should exist
  std::string folder;                         ///< common folder of all shards; empty if they are in several
  std::vector<std::string> empty_folders;     ///< of sets that were named and have no shard (yet)
  std::optional<formats::Manifest> manifest;  ///< <folder>/manifest.json
  std::string manifest_path;                  ///< empty without a manifest
  std::shared_ptr<Inputs> inputs;             ///< opens the shards and the files next to them

  /// Of all shards.
  std::uint64_t bytes() const;
};

/// The operand SHARDS of verbs that read shards in location, for resolve_shards().
inline constexpr Field kShardsOperand{
    "SHARDS", "folders, tars, patterns, list files or wids indexes, local or at s3:// or http(s):// URLs",
    Role::positional};

/// Which files of a folder are meant.
enum class FolderTars {
  plain,  ///< *.tar, without compressed ones
  all,    ///< also *.tar.gz, *.tgz, *.tar.zst, ...
};

/// True for "x.tar" and names derived from it, so that such a file is reported as what it is.
bool is_tar_name(std::string_view name);
/// True for names of compressed tars that libarchive unpacks: "x.tar.gz", "x.tgz", "x.tar.zst", ...
bool is_compressed_tar_name(std::string_view name);

/// Resolves SHARDS operands with the resolver in operands.hpp: for a folder its tar_names_in(), for a folder behind
/// HTTP the tars in its manifest; a folder of a set may have none of its shards. A listed shard that is missing in the
/// folder is not an error here, nor is a name in a local folder that is not a readable file (its `bytes` are 0): verify
/// and stage report it. A folder is never a shard. Warns if compressed tars were skipped, or a folder's manifest.json
/// belongs to another program. Throws Error{not_found} for a missing path or a folder without shards, Error{usage} for
/// anything else, Error{unsupported} for a pipe or device in a folder and for a folder with only compressed tars,
/// unless `tars` is `all`, and the errors of resolve_operands().
ShardSet resolve_shards(const std::vector<std::string>& operands, Context& context, const StoreAccess& access = {},
                        FolderTars tars = FolderTars::plain);

/// Names of the tars directly in a local folder, including compressed ones, sorted, without folders, hidden ones and
/// shards_being_added(). Throws the errors of listing.
std::vector<std::string> tar_names_in(const std::string& folder);

/// Names of shards that a convert --append has already moved into a local folder, and that its manifest does not list
/// yet: readers of the folder leave them out, also after the append was interrupted.
std::set<std::string> shards_being_added(const std::string& folder);

/// The folders of the sets in a local folder that has no tar itself, such as out/train and out/val; empty if it is not
/// one.
std::vector<std::string> sets_in(const std::string& folder);

/// Throws Error{usage} if a local `operand` is such a folder: `command` writes one set, and returns the command for the
/// set in the given folder, of the given name.
void refuse_folder_of_sets(const std::string& operand,
                           const std::function<std::string(const std::string& set, const std::string& name)>& command);

/// The shards in the manifest of a folder behind HTTP, with their sizes. Without a manifest of ours, throws the error
/// about the missing listing; otherwise like read_set_manifest().
std::vector<ShardFile> shards_by_manifest(const NamedInput& folder, Inputs& inputs);

/// formats::read_manifest() for a whole set; the error about a damaged one includes what to do.
formats::Manifest read_set_manifest(std::string_view text, const std::string& path);

/// The manifests of the shards' folders, by parent_folder() of their paths; empty for a folder without one.
using FolderManifests = std::map<std::string, std::optional<formats::Manifest>>;
/// The manifests of the set's shards. Reads each once, and `set.manifest` not again. Throws like read_set_manifest().
FolderManifests manifests_by_folder(const ShardSet& set);

/// The manifest entries of the set's shards, in the order of the shards; null for a shard that no manifest lists.
std::vector<const formats::ManifestShard*> listed_shards(const ShardSet& set, const FolderManifests& manifests);

/// The manifest.json of a folder; empty if there is none, or that of another program. Throws like read_set_manifest().
std::optional<formats::Manifest> find_manifest(Inputs& inputs, const std::string& folder);

}  // namespace shardkit::catalog
