#pragma once

#include <string>
#include <vector>

#include "catalog/inputs.hpp"

namespace shardkit::catalog {

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
