#pragma once

#include <string>
#include <vector>

#include "catalog/object_opener.hpp"
#include "catalog/object_place.hpp"

namespace shardkit {

/// Where what SRC operands name lies, in the order named. Nothing stands twice, no object lies in one of the folders.
struct OperandPlaces {
  std::vector<ObjectPlace> folders;
  std::vector<ObjectPlace> objects;
};

/// The first half of open_objects(), by its rules; at least one place is returned.
OperandPlaces resolve_operands(const std::vector<std::string>& operands, ObjectOpener& opener);

}  // namespace shardkit
