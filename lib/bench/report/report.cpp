#include "bench/report/report.hpp"

#include <array>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/compare/compare.hpp"
#include "bench/compare/measurements.hpp"
#include "bench/report/history.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "core/text.hpp"
#include "io/file_system.hpp"
#include "io/publish.hpp"
#include "report/page.hpp"
#include "stats/summary.hpp"

namespace shardkit::bench {
namespace {

using Json = nlohmann::json;

bool is_markdown(const std::string& path) { return lower_case(path).ends_with(".md"); }

/// Other names may be those of results.
void check_name(const std::string& path) {
  const std::string name = lower_case(path);
  if (is_markdown(path) || name.ends_with(".html") || name.ends_with(".htm")) return;
  throw usage_error("--output: '{}' does not end in .html or .md, which select the format", path);
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

ReportKind kind_of(const ReportOptions& options) {
  if (options.results.size() == 1 && !is_folder(options.results.front())) return ReportKind::result;
  return options.results.size() == 2 ? ReportKind::comparison : ReportKind::history;
}

/// A result of any verb of both programs, also of a failed run: the page begins with its error.
Json any_result(const std::string& path) {
  Json envelope = read_own_json(path, "a result that iobench or shardctl wrote with --json FILE");
  if (envelope.contains("result") || envelope.contains("error")) return envelope;
  throw Error(ErrorCode::usage, At{path}, "'{}' is a file of {} and not a result; give a file written with --json",
              path, verb_of(envelope));
}

/// An envelope for what was made of several results. Date and host are those of `last`.
template <Describable T>
Json envelope_of(std::string_view verb, T result, const Json& last) {
  Json envelope = {{"schema", fmt::format("shardkit/{}", verb)}, {"status", "ok"}};
  for (const char* name : {"tool", "host", "started_at"}) {
    if (last.contains(name)) envelope[name] = last.at(name);
  }
  envelope["result"] = parse_json(json_text(fields_json(field_tree([&](FieldList& v) { result.describe(v); }))));
  return envelope;
}

/// What the page of a comparison shows, and its result does not contain.
struct Sides {
  std::vector<report::MetricRuns> runs;
  std::array<Json, 2> single;  ///< the envelope of a side that is one file; null for folders

  report::Beside beside() const {
    const bool both = !single[0].is_null() && !single[1].is_null();
    return {runs, both ? &single[0] : nullptr, both ? &single[1] : nullptr};
  }
};

/// The median of each run that has the metric; of a single run its repetitions.
std::vector<double> values_of(const Measurements& side, const std::string& metric) {
  std::vector<double> medians;
  const auto runs = side.values.find(metric);
  if (runs == side.values.end()) return medians;
  if (runs->second.size() == 1) return runs->second.front();
  for (const std::vector<double>& run : runs->second) {
    if (!run.empty()) medians.push_back(stats::summarize(run).median);
  }
  return medians;
}

/// Of a baseline only the values are known.
Sides sides_of(const std::vector<std::string>& paths, const ComparedMeasurements& compared) {
  Sides sides;
  if (is_baseline(paths[0])) return sides;
  for (const CompareRow& row : compared.result.rows) {
    sides.runs.push_back({row.metric, values_of(compared.base, row.metric), values_of(compared.changed, row.metric)});
  }
  for (std::size_t i = 0; i < sides.single.size(); ++i) {
    if (!is_folder(paths[i])) sides.single[i] = any_result(paths[i]);
  }
  return sides;
}

Json compared(const std::vector<std::string>& paths, Context& context, Sides& sides) {
  CompareOptions options;
  options.base = paths[0];
  options.changed = paths[1];
  const ComparedMeasurements compared = compare_measurements(options, context);
  sides = sides_of(paths, compared);
  Json envelope = envelope_of("compare", compared.result, any_result(compared.changed.files.back()));
  envelope["options"] = {{"base", paths[0]}, {"new", paths[1]}};
  if (compared.result.has_findings()) envelope["status"] = "findings";
  return envelope;
}

Json history_of(const std::vector<std::string>& paths, Context& context, std::vector<LeftOut>& left_out) {
  Json last;
  const History history = read_history(paths, context, last);
  left_out = history.left_out;
  return envelope_of("history", history, last);
}

}  // namespace

ReportResult report(const ReportOptions& options, Context& context) {
  check_name(options.output);
  ReportResult result;
  result.kind = kind_of(options);
  result.output = options.output;
  Json envelope;
  Sides sides;
  switch (result.kind) {
    case ReportKind::result:
      envelope = any_result(options.results.front());
      break;
    case ReportKind::comparison:
      envelope = compared(options.results, context, sides);
      break;
    case ReportKind::history:
      envelope = history_of(options.results, context, result.left_out);
      break;
  }
  const report::Page page = report::page_of(options.redact ? report::redacted(envelope) : envelope, sides.beside());
  const std::string text = is_markdown(options.output) ? report::markdown(page) : report::html(page);
  result.headline = page.headline;
  result.sections = page.sections.size();
  result.bytes = text.size();
  io::publish(*io::posix_file_system(), io::published_path(options.output), as_bytes(text));
  return result;
}

void ReportOptions::describe(FieldList& v) {
  v.field({"RESULT",
           "files written with --json, or folders of them: one is shown, two are compared, a folder or more files are "
           "the history of a node",
           Role::positional},
          results);
  v.field({"output", "page to write, .html, or .md for Markdown", Role::output_file, kSharedOutput, 'o'}, output);
  v.field({"redact", "replace names of hosts and paths, for pages that leave the house"}, redact);
}

void ReportResult::describe(FieldList& v) {
  v.field({"kind", "what the page shows: a result, a comparison of two, or the history of a node"}, kind);
  v.field({"headline", "first line of the page"}, headline);
  v.field({"output", "page that was written"}, output);
  v.field({"bytes", Unit::bytes, "its size"}, bytes);
  v.field({"sections", Unit::count, "its sections"}, sections);
  v.field({"left_out", "results that are not part of it"}, left_out);
}

}  // namespace shardkit::bench
