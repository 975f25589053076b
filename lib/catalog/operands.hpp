#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/inputs.hpp"

/// Files that name shards: what they hold, as they hold it. What a name means depends on where the file lies. `path` is
/// for messages.
namespace shardkit::catalog {

/// Of a list file: one path or URL a line, blank lines left out. Throws Error{not_found} when it names none.
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

/// The one resolver of what a user names: files, folders, brace patterns, globs, lists, wids indexes and manifests,
/// local or in stores, and "-", a list on standard input. By the rules of open_objects(), in the order named, nothing
/// twice. Makes the places known to `inputs`. Throws as open_objects().
std::vector<NamedInput> resolve_operands(const std::vector<std::string>& operands, Inputs& inputs);

}  // namespace shardkit::catalog
