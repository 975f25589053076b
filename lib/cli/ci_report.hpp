#pragma once

#include <string>
#include <string_view>

#include "cli/command.hpp"
#include "cli/envelope.hpp"

/// Reports for continuous integration.
namespace shardkit::cli {

/// Text for a cell of a table, or a line, of Markdown.
std::string markdown_text(std::string_view text);

/// JUnit XML as Jenkins, GitLab and GitHub's actions read it: a suite named after the verb. A run that failed is one
/// case in error instead of `found`.
std::string junit_xml(const Report& report, const CiReport& found);

/// A Markdown page: a heading that says how the verb ended, and what it found. Of a run that failed: why.
std::string ci_markdown(const Report& report, const CiReport& found);

}  // namespace shardkit::cli
