#include "cli/reports/ci_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/field_text.hpp"
#include "cli/reports/compare_report.hpp"
#include "system/clock.hpp"

namespace shardkit {
namespace {

/// For text and attribute values of XML 1.0; control characters are out already.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string element(const CiCase& one) {
  const std::string head = fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(one.group), xml(one.name));
  if (one.outcome == CiCase::Outcome::passed) return head + "/>\n";
  return fmt::format("{}>\n      <{} message=\"{}\"/>\n    </testcase>\n", head,
                     one.outcome == CiCase::Outcome::failed ? "failure" : "skipped", xml(one.message));
}

std::string failed_run(const Report& report) {
  return fmt::format("    <testcase classname=\"{}\" name=\"run\">\n      <error message=\"{}\"/>\n    </testcase>\n",
                     xml(report_title(report)), xml(printable(report.outcome.failure->text)));
}

}  // namespace

std::string report_title(const Report& report) { return fmt::format("{} {}", report.program, report.verb); }

std::string junit_suite(const Report& report, const std::vector<CiCase>& cases) {
  const bool failed = report.outcome.failure.has_value();
  const auto count = [&](CiCase::Outcome outcome) {
    return failed ? 0 : std::ranges::count(cases, outcome, &CiCase::outcome);
  };
  std::string elements = failed ? failed_run(report) : "";
  if (!failed) {
    for (const CiCase& one : cases) elements += element(one);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" "
      "errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\" timestamp=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
      xml(report_title(report)), failed ? 1 : cases.size(), count(CiCase::Outcome::failed), failed ? 1 : 0,
      count(CiCase::Outcome::skipped), report.elapsed_seconds, rfc3339(report.started_at), elements);
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '<' || c == '*' || c == '_') out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_heading(const Report& report, std::string_view conclusion) {
  const std::string head = fmt::format("### {}: ", report_title(report));
  if (!report.outcome.failure) return fmt::format("{}{}\n", head, conclusion);
  return fmt::format("{}failed\n\n{}\n", head, markdown_text(printable(report.outcome.failure->text)));
}

const FieldNode* find_member(const std::vector<FieldNode>& nodes, std::string_view name) {
  const auto found = std::ranges::find(nodes, name, &FieldNode::name);
  return found == nodes.end() ? nullptr : &*found;
}

std::string member_text(const std::vector<FieldNode>& nodes, std::string_view name) {
  const FieldNode* node = find_member(nodes, name);
  return node == nullptr ? std::string() : printable(value_text(*node));
}

namespace {

struct Finding {
  std::string code;
  bool error = false;
  std::string place;  ///< shard, offset and key, those that there are
  std::string shard;
  std::string text;
};

std::vector<Finding> findings_of(const Report& report) {
  std::vector<Finding> findings;
  const FieldNode* list = report.outcome.failure ? nullptr : find_member(report.result, "problems");
  if (list == nullptr) return findings;
  for (const FieldNode& item : list->children) {
    Finding finding{member_text(item.children, "code"),
                    member_text(item.children, "severity") == "error",
                    {},
                    member_text(item.children, "shard"),
                    member_text(item.children, "text")};
    const std::string offset = member_text(item.children, "offset");
    const std::string key = member_text(item.children, "key");
    finding.place = finding.shard.empty() ? "the set" : finding.shard;
    if (!offset.empty()) finding.place += " at byte " + offset;
    if (!key.empty()) finding.place += ", " + key;
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<CiCase> cases_of(const Report& report) {
  const std::vector<Finding> findings = findings_of(report);
  std::vector<CiCase> cases;
  if (std::ranges::none_of(findings, &Finding::error))
    cases.push_back({report_title(report), "no errors", CiCase::Outcome::passed, {}});
  for (const Finding& finding : findings) {
    cases.push_back({finding.shard.empty() ? "set" : finding.shard, finding.code,
                     finding.error ? CiCase::Outcome::failed : CiCase::Outcome::skipped,
                     fmt::format("{}: {}", finding.place, finding.text)});
  }
  return cases;
}

}  // namespace

std::string junit_xml(const Report& report) {
  return junit_suite(report, is_comparison(report) ? compare_cases(report) : cases_of(report));
}

std::string findings_markdown(const Report& report) {
  if (is_comparison(report)) return compare_markdown(report);
  const std::vector<Finding> findings = findings_of(report);
  if (report.outcome.failure || findings.empty()) return markdown_heading(report, "no problems");
  std::string out = markdown_heading(report, member_text(report.result, "problems_total") + " problems");
  out += "\n| severity | code | place | what it means |\n|---|---|---|---|\n";
  for (const Finding& finding : findings) {
    out += fmt::format("| {} | `{}` | {} | {} |\n", finding.error ? "error" : "warning", finding.code,
                       markdown_text(finding.place), markdown_text(finding.text));
  }
  return out;
}

}  // namespace shardkit
