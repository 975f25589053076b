#include "cli/reports/findings_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/reports/ci_report.hpp"
#include "cli/reports/compare_report.hpp"

namespace shardkit {
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
