#pragma once

#include <string>

#include "cli/envelope.hpp"

/// Reports for continuous integration, from a result with a list "problems" of {code, severity, shard, offset, key,
/// text}.
namespace shardkit {

/// JUnit XML as Jenkins, GitLab and GitHub's actions read it: a test suite named after the verb, with a failed case for
/// each error and a skipped one for each warning, by shard and code; a passed case stands for a run without errors, and
/// a failed run is one case in error.
std::string junit_xml(const Report& report);

/// A Markdown page: one line that says how it ended, and a table of what was found.
std::string findings_markdown(const Report& report);

}  // namespace shardkit
