#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/inputs.hpp"

/// Files that list shards: their entries as written. What an entry means depends on the location of the file. `path` is
/// for messages.
namespace shardkit::catalog {

/// Entries of a list file: one path or URL per line, without blank lines and a byte order mark. Throws Error{not_found}
/// if there are none.
std::vector<std::string> listed_shards(std::string_view text, const std::string& path);

/// URLs of a wids index, in its order. Throws Error{usage} if it is not one, Error{not_found} if it is empty, and the
/// errors of read_wids_index().
std::vector<std::string> wids_shards(std::string_view text, const std::string& path);

/// A folder or an object of an operand.
struct NamedInput {
  ObjectLocation location;
  std::string path;      ///< to open it with Inputs: a local path as written, or the address without secrets
  std::string named_by;  ///< the operand, or the list, for messages
};

/// Which local .txt and .json files list others. In a store all of them do.
enum class Lists {
  by_name,     ///< every one: any other is an error
  by_content,  ///< those with such content: a .txt whose first line is an existing file, a wids index, a manifest of
               ///< ours. Others are data: captions, labels, settings.
};

/// The only resolver of operands: files, folders, brace patterns, globs, lists, wids indexes and manifests, local or in
/// stores, and "-", a list on standard input. Uses the rules of open_objects(), keeps the order, removes duplicates.
/// Wildcards match files, not folders. Standard input is read once and reused. Registers the locations in `inputs`.
/// Throws like open_objects(), and Error{usage} for a pipe, socket or device and for wildcards behind HTTP, which has
/// no listing.
std::vector<NamedInput> resolve_operands(const std::vector<std::string>& operands, Inputs& inputs,
                                         Lists lists = Lists::by_name);

}  // namespace shardkit::catalog
