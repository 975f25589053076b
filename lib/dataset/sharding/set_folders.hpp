#pragma once

#include <string>
#include <vector>

namespace shardkit::dataset {

/// The folders below `folder` that a convert or reshard writes to, sorted: the sets of a split.
std::vector<std::string> sets_below(const std::string& folder);

}  // namespace shardkit::dataset
