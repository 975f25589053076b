#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/outcome.hpp"
#include "core/field_tree.hpp"

/// A verb's result in machine-readable formats: the JSON envelope, described by cli/documents/schema.cpp, Prometheus
/// metrics, and JUnit XML and Markdown for continuous integration.
namespace shardkit::cli {

/// Contents of an envelope besides host and build.
struct Report {
  std::string_view program;
  std::string_view verb;  ///< as typed: "stage", "cache ls"
  int schema_version = 1;
  std::chrono::system_clock::time_point started_at;
  double elapsed_seconds = 0;
  std::vector<FieldNode> options;
  std::string headline = {};      ///< of the report on a terminal, without the time; empty: none
  std::vector<FieldNode> result;  ///< ignored for a failure, unless failed_with_result
  std::vector<Finding> warnings;
  Outcome outcome;
  bool failed_with_result = false;
  std::vector<std::pair<std::string, std::string>> labels = {};  ///< of --label
};

/// The envelope as text, indented by 1, newline at the end. Valid JSON for any input: NaN and infinity become null,
/// bytes that are not UTF-8 become U+FFFD.
std::string envelope_json(const Report& report);

/// The conditions of a measurement, as in "on node7 (16 CPUs, Debian 12, Linux 6.1.0), 2026-11-23T07:20:00Z, iobench
/// 0.2.0".
std::string node_line(const Report& report);

/// Described members as JSON on one line, with a member "event" first and a newline at the end: a row of JSON lines.
/// Valid JSON for any input: NaN and infinity become null, bytes that are not UTF-8 become U+FFFD.
std::string json_line(std::string_view event, const std::vector<FieldNode>& nodes);

/// JUnit XML for Jenkins, GitLab and GitHub actions: a suite named after the verb. A failed run is one case with an
/// error instead of `found`.
std::string junit_xml(const Report& report, const CiReport& found);

/// A Markdown page: a heading with the outcome, and the findings, or the error of a failed run; then the command, and
/// where, when and with which version it ran.
std::string ci_markdown(const Report& report, const CiReport& found, const std::string& command);

/// The report in Prometheus' text exposition format 0.0.4, for the textfile collector: every number of the result as
/// gauge shardkit_<verb>_<field> (shardkit_cache_ls_files), with groups joined by "_". Words that promtool expects in
/// names of other types are replaced: "failures_total" is shardkit_..._failures_all. All series have the labels host,
/// the operands, options with Field::label, and those of --label. A list whose items have a Field::label has a series
/// per item with that label; other lists are left out. Also shardkit_<verb>_success,
/// _exit_code, _elapsed_seconds and _finished_timestamp_seconds of every run, including failed ones. All are gauges:
/// they describe the last run, and nothing counts up over runs.
std::string prometheus_text(const Report& report);

}  // namespace shardkit::cli
