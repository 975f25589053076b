#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/inputs.hpp"
#include "catalog/operands.hpp"
#include "core/context.hpp"
#include "formats/manifest.hpp"

namespace shardkit::catalog {

/// One tar to work on.
struct ShardFile {
  std::string path;  ///< to open it, by ShardSet::inputs: a local path, or an address without secrets
  std::string name;  ///< file name, for reports and manifest look-up
  std::uint64_t bytes = 0;
};

/// The shards that a command line names, and the manifest that describes them where there is one.
struct ShardSet {
  std::vector<ShardFile> shards;              ///< in the order named; those of a folder by name; none twice
  bool of_folder = false;                     ///< an operand was a folder: all that its manifest lists should be there
  std::string folder;                         ///< common folder of all shards; empty when they lie in several
  std::optional<formats::Manifest> manifest;  ///< <folder>/manifest.json
  std::string manifest_path;                  ///< empty without a manifest
  std::string foreign_manifest;               ///< <folder>/manifest.json of another program; empty without
  /// Compressed tars in folders named, which were passed over. They are not read in place.
  std::vector<std::string> compressed;
  std::shared_ptr<Inputs> inputs;  ///< opens the shards and what lies beside them

  /// Of all shards.
  std::uint64_t bytes() const;
};

/// The operand SHARDS of verbs that read shards in place: what resolve_shards() takes.
inline constexpr Field kShardsOperand{
    "SHARDS", "folders, tars, patterns, list files or wids indexes, here or at s3:// or http(s):// URLs",
    Role::positional};

/// What of a folder is meant.
enum class FolderTars {
  plain,  ///< *.tar; compressed ones are passed over
  all,    ///< also *.tar.gz, *.tgz, *.tar.zst, ...
};

/// True for "x.tar", and for what was made of one, so that it is reported for what it is.
bool is_tar_name(std::string_view name);
/// True for names of compressed tars: "x.tar.gz", "x.tgz", "x.tar.zst", ... of what libarchive unpacks.
bool is_compressed_tar_name(std::string_view name);

/// Resolves SHARDS operands, by the one resolver (operands.hpp): of a folder its tars, not hidden ones; of a
/// folder behind HTTP those that its manifest lists. A shard that the manifest lists and the folder lacks is not an
/// error here, nor is a name in a local folder that is not a readable file (its `bytes` are 0): verify and stage report
/// it. A folder is no shard, whatever its name. `inputs` null: without options. Throws Error{not_found} for a path that
/// is not there or a folder without shards, Error{usage} for something that is none of these, Error{unsupported} for a
/// pipe or device in a folder and for a folder that has only compressed tars, unless `tars` is `all`, and what
/// resolve_operands() throws.
ShardSet resolve_shards(const std::vector<std::string>& operands, FolderTars tars = FolderTars::plain,
                        std::shared_ptr<Inputs> inputs = nullptr);

/// The same with a warning where compressed tars were passed over, or a folder's manifest.json is another program's.
ShardSet resolve_shards(const std::vector<std::string>& operands, Context& ctx, const StoreAccess& access = {},
                        FolderTars tars = FolderTars::plain);

/// Names of the tars right in a local folder, compressed ones too, sorted; neither folders nor hidden ones. Throws what
/// listing throws.
std::vector<std::string> tar_names_in(const std::string& folder);

/// The shards that the manifest of a folder behind HTTP lists, with the sizes it says. Throws what says that there is
/// no listing where it has no manifest of ours, and as read_set_manifest().
std::vector<ShardFile> shards_by_manifest(const NamedInput& folder, Inputs& inputs);

/// formats::read_manifest() of a whole set; the error about a damaged one says what to do.
formats::Manifest read_set_manifest(std::string_view text, const std::string& path);

/// The manifests of the folders that shards lie in, by parent_folder() of their paths; empty for a folder without.
using FolderManifests = std::map<std::string, std::optional<formats::Manifest>>;
/// Those of the set's shards. Reads each once, `set.manifest` not again. Throws as read_set_manifest().
FolderManifests manifests_by_folder(const ShardSet& set);

/// What they list of the set's shards, in the order of these; null where none does.
std::vector<const formats::ManifestShard*> listed_shards(const ShardSet& set, const FolderManifests& manifests);

/// The manifest.json of a folder; empty where there is none, or another program's. Throws as read_set_manifest().
std::optional<formats::Manifest> find_manifest(Inputs& inputs, const std::string& folder);

}  // namespace shardkit::catalog
