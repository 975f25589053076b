#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "dataset/checks/problem.hpp"

namespace shardkit {

/// The problems of a verb for CI systems: a failed case for each error, a skipped one for each warning, by shard and
/// code. `title` names the program and verb; `total` counts the problems that are not listed too.
CiReport problem_report(std::string_view title, const std::vector<Problem>& problems, std::uint64_t total);

}  // namespace shardkit
