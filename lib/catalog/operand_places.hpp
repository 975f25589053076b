#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/object_place.hpp"

/// Files that name shards: what they hold, as they hold it. What a name means depends on where the file lies. `path` is
/// for messages.
namespace shardkit::catalog {

/// Of a list file: one path or URL a line, blank lines left out. Throws Error{not_found} when it names none.
std::vector<std::string> listed_shards(std::string_view text, const std::string& path);

/// Of a wids index: the URLs, in its order. Throws Error{usage} when it is none, Error{not_found} when it names none,
/// and what read_wids_index() throws.
std::vector<std::string> wids_shards(std::string_view text, const std::string& path);

/// Where what SRC operands name lies, in the order named. Nothing stands twice, no object lies in one of the folders.
struct OperandPlaces {
  std::vector<ObjectPlace> folders;
  std::vector<ObjectPlace> objects;
};

/// The first half of open_objects(), by its rules; at least one place is returned.
OperandPlaces resolve_operands(const std::vector<std::string>& operands, ObjectOpener& opener);

}  // namespace shardkit::catalog
