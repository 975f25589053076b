#pragma once

#include <string>
#include <vector>

#include "catalog/object_set.hpp"
#include "core/context.hpp"

/// What of a store is measured.
namespace shardkit {

/// True for an operand that names what lies behind a URL: one itself, or a list or wids index whose first entry is one.
bool lies_in_store(const std::string& operand);

/// The objects of `set` that hold data, with their sizes: those that were named; of a folder those of its
/// manifest, else the shards at any depth, and where there are none all files but hidden ones. Throws Error{not_found}
/// where there are none or they are empty, and what the source throws.
std::vector<ObjectInfo> data_objects(const ObjectSet& set, Context& context);

}  // namespace shardkit
