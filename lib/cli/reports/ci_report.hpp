#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/envelope.hpp"

/// What all reports for continuous integration are made of: JUnit XML and Markdown.
///
/// Reports for continuous integration, from a result with a list "problems" of {code, severity, shard, offset, key,
/// text} or with the rows of a comparison (cli/compare_report.hpp).
namespace shardkit {

/// One line of a test report.
struct CiCase {
  enum class Outcome { passed, failed, skipped };

  std::string group;  ///< what CI files it under
  std::string name;
  Outcome outcome = Outcome::passed;
  std::string message;  ///< why it failed or was skipped
};

/// "iobench compare"
std::string report_title(const Report& report);

/// A suite named after the verb, as Jenkins, GitLab and GitHub's actions read it. A run that failed is one case in
/// error, `cases` are left out then.
std::string junit_suite(const Report& report, const std::vector<CiCase>& cases);

/// Text for a cell of a table, or a line, of Markdown.
std::string markdown_text(std::string_view text);

/// The heading of a page: "### iobench compare: " and what follows; of a run that failed that, and why.
std::string markdown_heading(const Report& report, std::string_view conclusion);

/// The member `name`; null when there is none.
const FieldNode* find_member(const std::vector<FieldNode>& nodes, std::string_view name);
/// Its value as people read it, control characters escaped; empty when there is none.
std::string member_text(const std::vector<FieldNode>& nodes, std::string_view name);

/// JUnit XML: of problems a failed case for each error and a skipped one for each warning, by shard and code, and a
/// passed case for a run without errors; of a comparison a case for each metric, requirement and decisive difference.
std::string junit_xml(const Report& report);

/// A Markdown page: one line that says how it ended, and a table of what was found.
std::string findings_markdown(const Report& report);

}  // namespace shardkit
