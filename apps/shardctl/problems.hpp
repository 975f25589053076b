#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "dataset/checks/problem.hpp"

namespace shardkit::apps {

/// The problems of a verb for CI systems: a case for each of `files`, for each other file with a problem, and for the
/// set as a whole. It fails for an error, when `strict` for a warning too, and is skipped for warnings. `total` counts
/// the problems that are not listed too.
cli::CiReport problem_report(const std::vector<dataset::Problem>& problems, std::uint64_t total, bool strict = false,
                             const std::vector<std::string>& files = {});

/// What is wrong, for people: a paragraph for each kind of problem, errors first, with the first places of each.
std::string findings_text(const std::vector<dataset::Problem>& problems, std::uint64_t total);

}  // namespace shardkit::apps
