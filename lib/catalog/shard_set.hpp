#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/inputs.hpp"
#include "catalog/operands.hpp"
#include "catalog/set_rules.hpp"
#include "catalog/set_state.hpp"
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
  std::vector<SeenSet> seen;                  ///< the named folders; of a group its sets
  std::vector<std::string> operands;          ///< as given; for a group the folders of its sets
  std::optional<formats::Manifest> manifest;  ///< <folder>/manifest.json
  std::string manifest_path;                  ///< empty without a manifest
  std::shared_ptr<Inputs> inputs;             ///< opens the shards and the files next to them

  /// Of all shards.
  std::uint64_t bytes() const;
  /// A named folder; null for one that was not, because its tars were.
  const SeenSet* seen_in(const std::string& path) const;
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

/// Resolves SHARDS operands with the resolver in operands.hpp, and enforces the rules of `verb` for each folder. Of a
/// folder the shards that its state says (SeenSet::shards()), for verify all tars; a folder of a set may have none. A
/// folder is never a shard. Warns if compressed tars were skipped. Throws Error{not_found} for a missing path,
/// Error{unsupported} for a pipe or device in a folder and for a folder with only compressed tars, unless `tars` is
/// `all`, Error{usage} for anything else, and the errors of enforce() and resolve_operands().
ShardSet resolve_shards(const std::vector<std::string>& operands, SetVerb verb, Context& context,
                        const StoreAccess& access = {}, FolderTars tars = FolderTars::plain);

/// The manifests of the shards' folders, by parent_folder() of their paths; empty for a folder without one.
using FolderManifests = std::map<std::string, std::optional<formats::Manifest>>;
/// The manifests of the set's folders. Reads only those of tars that were named.
FolderManifests manifests_by_folder(const ShardSet& set);

/// The manifest entries of the set's shards, in the order of the shards; null for a shard that no manifest lists.
std::vector<const formats::ManifestShard*> listed_shards(const ShardSet& set, const FolderManifests& manifests);

/// The manifest.json of a folder; empty without one, and for one that is damaged or of another program.
std::optional<formats::Manifest> find_manifest(Inputs& inputs, const std::string& folder);

}  // namespace shardkit::catalog
