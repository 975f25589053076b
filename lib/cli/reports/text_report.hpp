#pragma once

#include <string>
#include <vector>

#include "cli/field_tree.hpp"

namespace shardkit {

/// A result as text: "name  value" lines with human units, groups indented, lists as tables that stop after 20 rows
/// and say how many more there are. What is absent is left out. Control characters in values are escaped.
std::string text_report(const std::vector<FieldNode>& result);

}  // namespace shardkit
