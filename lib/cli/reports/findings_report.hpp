#pragma once

#include <string>

#include "cli/envelope.hpp"

/// Reports for continuous integration, from a result with a list "problems" of {code, severity, shard, offset, key,
/// text} or with the rows of a comparison (cli/compare_report.hpp).
namespace shardkit {

/// JUnit XML: of problems a failed case for each error and a skipped one for each warning, by shard and code, and a
/// passed case for a run without errors; of a comparison a case for each metric, requirement and decisive difference.
std::string junit_xml(const Report& report);

/// A Markdown page: one line that says how it ended, and a table of what was found.
std::string findings_markdown(const Report& report);

}  // namespace shardkit
