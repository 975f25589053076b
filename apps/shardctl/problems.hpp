#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "dataset/checks/problem.hpp"

namespace shardkit::apps {

/// The problems of a verb for CI systems: a failed case for each error, a skipped one, when `strict` a failed one too,
/// for each warning, by shard and code. `title` names the program and verb; `total` counts the problems that are not
/// listed too.
cli::CiReport problem_report(std::string_view title, const std::vector<dataset::Problem>& problems, std::uint64_t total,
                             bool strict = false);

}  // namespace shardkit::apps
