#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "formats/manifest.hpp"

namespace shardkit::catalog {

/// One tar to work on.
struct ShardFile {
  std::string path;  ///< to open it
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
  /// Compressed tars in folders named, which were passed over. They are not read in place.
  std::vector<std::string> compressed;
};

/// What of a folder is meant.
enum class FolderTars {
  plain,  ///< *.tar; compressed ones are passed over
  all,    ///< also *.tar.gz, *.tgz, *.tar.zst, ...
};

/// True for names of compressed tars: "x.tar.gz", "x.tgz", "x.tar.zst", ... of what libarchive unpacks.
bool is_compressed_tar_name(std::string_view name);

/// Resolves SHARDS operands: a folder (its tars, not hidden ones), a tar file, a brace pattern
/// "x-{000000..000146}.tar", a list file (*.txt: one path per line, relative to the list) or a wids index (*.json with
/// "shardlist"). A shard that the manifest lists and the folder lacks is not an error here, nor is a name in a folder
/// that is no readable file (its `bytes` are 0): verify and stage report it.
/// Throws Error{not_found} for a path that is not there or a folder without shards, Error{usage} for something that is
/// none of these, Error{unsupported} for a pipe or device, for a URL (object stores are not readable yet) and for a
/// folder that holds compressed tars alone, unless `tars` is `all`.
ShardSet resolve_shards(const std::vector<std::string>& operands, FolderTars tars = FolderTars::plain);

/// The same with a warning where compressed tars were passed over: for all that read shards in place.
ShardSet resolve_shards(const std::vector<std::string>& operands, Context& ctx);

}  // namespace shardkit::catalog
