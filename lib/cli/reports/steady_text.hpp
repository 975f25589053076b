#pragma once

#include <vector>

#include "cli/field_tree.hpp"

namespace shardkit {

/// Where `nodes` have a "steady" that is not known, says so and why: `seconds` were measured.
void tell_steadiness(std::vector<FieldNode>& nodes, double seconds);

}  // namespace shardkit
