#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/outcome.hpp"
#include "core/field_tree.hpp"

/// A verb's result in the forms that programs read: the JSON envelope, which cli/documents/schema.cpp describes,
/// Prometheus' metrics, and JUnit XML and Markdown for continuous integration.
namespace shardkit::cli {

inline constexpr int kSchemaVersion = 1;

/// Everything that goes into one envelope besides host and build.
struct Report {
  std::string_view program;
  std::string_view verb;  ///< as typed: "stage", "cache ls"
  std::chrono::system_clock::time_point started_at;
  double elapsed_seconds = 0;
  std::vector<FieldNode> options;
  std::vector<FieldNode> result;  ///< ignored when the outcome is a failure, unless failed_with_result
  std::vector<Warning> warnings;
  Outcome outcome;
  bool failed_with_result = false;
};

/// The envelope as text, indented by 1, newline at the end. Valid JSON for any input: NaN and infinity become null,
/// bytes that are not UTF-8 become U+FFFD.
std::string envelope_json(const Report& report);

/// "on node7 (16 CPUs, Debian 12, Linux 6.1.0), 2026-11-23T07:20:00Z, iobench 0.2.0": what a figure is worth without.
std::string node_line(const Report& report);

/// Described members as a JSON object, in their order; what is absent is null.
nlohmann::ordered_json fields_json(const std::vector<FieldNode>& nodes);

/// The same as one line, with a member "event" before the others and a newline behind: a row of JSON lines. Valid JSON
/// for any input: NaN and infinity become null, bytes that are not UTF-8 become U+FFFD.
std::string json_line(std::string_view event, const std::vector<FieldNode>& nodes);

/// Text for a cell of a table, or a line, of Markdown.
std::string markdown_text(std::string_view text);

/// JUnit XML as Jenkins, GitLab and GitHub's actions read it: a suite named after the verb. A run that failed is one
/// case in error instead of `found`.
std::string junit_xml(const Report& report, const CiReport& found);

/// A Markdown page: a heading that says how the verb ended, and what it found. Of a run that failed: why.
std::string ci_markdown(const Report& report, const CiReport& found);

/// The report in Prometheus' text exposition format 0.0.4, for the textfile collector: every number of the result as
/// gauge shardkit_<verb>_<field> (shardkit_cache_ls_files), groups joined by "_"; of a list whose items have a
/// Field::label, a series for each item with that label, other lists left out. And of every run, also a failed one,
/// shardkit_<verb>_success, _exit_code, _elapsed_seconds and _finished_timestamp_seconds. All are gauges: they tell of
/// the last run, and nothing counts up over runs.
std::string prometheus_text(const Report& report);

}  // namespace shardkit::cli
