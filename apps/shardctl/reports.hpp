#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "core/command_text.hpp"
#include "dataset/checks/problem.hpp"
#include "dataset/sharding/convert_job.hpp"

/// What several verbs answer alike.
namespace shardkit::apps {

/// The problems of a verb for CI systems: a case for each of `files`, for each other file with a problem, and for the
/// set as a whole. It fails for an error, when `strict` for a warning too, and is skipped for warnings. `total` counts
/// the problems that are not listed too.
cli::CiReport problem_report(const std::vector<dataset::Problem>& problems, std::uint64_t total, bool strict,
                             const std::vector<std::string>& files);

/// What is wrong, for people: a paragraph for each kind of problem, errors first, with the first places of each.
std::string findings_text(const std::vector<dataset::Problem>& problems, std::uint64_t total);

/// What convert and reshard answer alike: the shards that there are now, how fast they were written, what was kept, and
/// which command is next. `again`: command_to_run().
cli::Answer answer_of(const dataset::WrittenSets& written, const dataset::WriteOptions& options,
                      const std::string& target, const std::string& again);

/// The same command without --dry-run.
template <class Options>
std::string command_to_run(std::string_view command, Options options) {
  options.dry_run = false;
  return command_text(command, std::move(options));
}

}  // namespace shardkit::apps
