#pragma once

#include <string>
#include <vector>

#include "cli/fields/field_tree.hpp"

namespace shardkit {

/// Throws Error{usage} for the first of `reports` that is written over another one, over an operand or
/// over a file that an option names: one file has many spellings, links among them.
void require_places_apart(const std::vector<std::string>& reports, const std::vector<FieldNode>& options);

}  // namespace shardkit
