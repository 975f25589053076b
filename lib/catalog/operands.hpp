#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/inputs.hpp"

/// Files that name shards: what they hold, as they hold it. What a name means depends on where the file lies. `path` is
/// for messages.
namespace shardkit::catalog {

/// Of a list file: one path or URL a line, without blank lines and a byte order mark. Throws Error{not_found} when it
/// names none.
std::vector<std::string> listed_shards(std::string_view text, const std::string& path);

/// Of a wids index: the URLs, in its order. Throws Error{usage} when it is none, Error{not_found} when it names none,
/// and what read_wids_index() throws.
std::vector<std::string> wids_shards(std::string_view text, const std::string& path);

/// A folder or an object that an operand names.
struct NamedInput {
  ObjectLocation place;
  std::string path;      ///< to open it by Inputs: a local path as it was written, else the address without secrets
  std::string named_by;  ///< the operand, or the list, for messages
};

/// Which local .txt and .json files name others. In a store all of them do.
enum class Lists {
  by_name,     ///< every one: any other is an error
  by_content,  ///< those that read so: a .txt whose first line names a file, a wids index, a manifest of ours. Others
               ///< are files like any: captions, labels, settings.
};

/// The one resolver of what a user names: files, folders, brace patterns, globs, lists, wids indexes and manifests,
/// local or in stores, and "-", a list on standard input. By the rules of open_objects(), in the order named, nothing
/// twice. Wildcards match files, not folders. Standard input is read once, whoever names it later. Makes the places
/// known to `inputs`. Throws as open_objects(), and Error{usage} for a pipe, socket or device and for wildcards behind
/// HTTP, which has no listing.
std::vector<NamedInput> resolve_operands(const std::vector<std::string>& operands, Inputs& inputs,
                                         Lists lists = Lists::by_name);

}  // namespace shardkit::catalog
