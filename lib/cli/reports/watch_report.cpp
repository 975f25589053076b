#include "cli/reports/watch_report.hpp"

#include <iterator>

#include <fmt/format.h>

#include "cli/field_text.hpp"
#include "cli/field_tree.hpp"
#include "cli/reports/fact_lines.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

template <NamedEnum E>
std::string_view name_of(E value) {
  return EnumNames<E>::names.at(static_cast<std::size_t>(value));
}

std::string verdict_line(WatchResult result) {
  auto tree = field_tree([&](FieldVisitor& v) { result.describe(v); });
  std::erase_if(tree, [](const FieldNode& node) { return node.name == "rows"; });
  return json_line("verdict", tree);
}

void verdict(const WatchResult& result, bool colour, std::string& out) {
  out += bold(printable(result.verdict.text), colour) + "\n";
  if (!result.verdict.remedy.empty()) out += printable(result.verdict.remedy) + "\n";
  out += "\n";
  for (const std::string& evidence : result.verdict.evidence) out += "  " + printable(evidence) + "\n";
}

std::string subject(const WatchResult& result) {
  Facts facts;
  if (result.pid) facts.add(fmt::format("process {} ({})", *result.pid, result.command));
  if (!result.pid) facts.add("the whole node");
  facts.add(result.path);
  return facts.text();
}

std::string end_text(WatchEnd end) {
  switch (end) {
    case WatchEnd::stopped:
      return "stopped";
    case WatchEnd::process:
      return "the process has ended";
    case WatchEnd::duration:
    case WatchEnd::count:
      break;
  }
  return {};
}

/// "storage 83 %, compute 12 %", the largest first as the rules ask.
std::string shares(const WatchSummary& summary) {
  Facts facts;
  for (std::size_t i = 0; i < EnumNames<Shortage>::names.size(); ++i) {
    const auto shortage = static_cast<Shortage>(i);
    const double share = summary.share(shortage);
    if (share > 0) facts.add(fmt::format("{} {:.0f} %", name_of(shortage), share * 100));
  }
  return facts.text();
}

void about(const WatchResult& result, std::string& out) {
  line(out, "watched", subject(result));
  line(out, "time",
       Facts()
           .add(fmt::format("{} in {}", format_duration(result.summary.seconds),
                            format_count(result.summary.intervals, "interval")))
           .add(end_text(result.ended))
           .text());
  line(out, "short of", shares(result.summary));
  if (result.files > 0)
    line(out, "cached", fmt::format("looked at {} of the data", format_count(result.files, "file")));
  if (result.gpus_missing) line(out, "gpus", *result.gpus_missing);
}

void findings(const WatchResult& result, std::string& out) {
  for (const Finding& finding : result.findings) {
    fmt::format_to(std::back_inserter(out), "{}: {}\n  do      {}\n", name_of(finding.severity),
                   printable(finding.text), printable(finding.remedy));
  }
}

}  // namespace

std::string render_watch(const WatchResult& result, bool colour) {
  if (result.lines == WatchLines::json) return verdict_line(result);
  std::string out = result.lines == WatchLines::text && result.summary.intervals > 0 ? "\n" : "";
  verdict(result, colour, out);
  if (!result.findings.empty()) out += "\n";
  findings(result, out);
  out += "\n";
  about(result, out);
  return out;
}

}  // namespace shardkit
