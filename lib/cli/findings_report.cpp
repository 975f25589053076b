#include "cli/findings_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/field_text.hpp"
#include "net/timestamp.hpp"

namespace shardkit {
namespace {

struct Finding {
  std::string code;
  bool error = false;
  std::string place;  ///< shard, offset and key, those that there are
  std::string shard;
  std::string text;
};

const FieldNode* child(const std::vector<FieldNode>& nodes, std::string_view name) {
  const auto found = std::ranges::find(nodes, name, &FieldNode::name);
  return found == nodes.end() ? nullptr : &*found;
}

std::string text_of(const std::vector<FieldNode>& nodes, std::string_view name) {
  const FieldNode* node = child(nodes, name);
  return node == nullptr ? std::string() : printable(value_text(*node));
}

std::vector<Finding> findings_of(const Report& report) {
  std::vector<Finding> findings;
  const FieldNode* list = report.outcome.failure ? nullptr : child(report.result, "problems");
  if (list == nullptr) return findings;
  for (const FieldNode& item : list->children) {
    Finding finding{text_of(item.children, "code"),
                    text_of(item.children, "severity") == "error",
                    {},
                    text_of(item.children, "shard"),
                    text_of(item.children, "text")};
    const std::string offset = text_of(item.children, "offset");
    const std::string key = text_of(item.children, "key");
    finding.place = finding.shard.empty() ? "the set" : finding.shard;
    if (!offset.empty()) finding.place += " at byte " + offset;
    if (!key.empty()) finding.place += ", " + key;
    findings.push_back(std::move(finding));
  }
  return findings;
}

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

/// For a cell of a table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '<' || c == '*' || c == '_') out += '\\';
    out += c;
  }
  return out;
}

std::string title(const Report& report) { return fmt::format("{} {}", report.program, report.verb); }

std::string test_case(const Finding& finding) {
  return fmt::format("    <testcase classname=\"{}\" name=\"{}\">\n      <{} message=\"{}: {}\"/>\n    </testcase>\n",
                     xml(finding.shard.empty() ? "set" : finding.shard), xml(finding.code),
                     finding.error ? "failure" : "skipped", xml(finding.place), xml(finding.text));
}

}  // namespace

std::string junit_xml(const Report& report) {
  const std::vector<Finding> findings = findings_of(report);
  const auto failures = static_cast<std::size_t>(std::ranges::count_if(findings, &Finding::error));
  std::string cases;
  if (report.outcome.failure) {
    cases =
        fmt::format("    <testcase classname=\"{0}\" name=\"run\">\n      <error message=\"{1}\"/>\n    </testcase>\n",
                    xml(title(report)), xml(printable(report.outcome.failure->text)));
  } else if (failures == 0) {
    cases = fmt::format("    <testcase classname=\"{}\" name=\"no errors\"/>\n", xml(title(report)));
  }
  const std::size_t own_cases = cases.empty() ? 0 : 1;
  for (const Finding& finding : findings) cases += test_case(finding);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" "
      "errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\" timestamp=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
      xml(title(report)), findings.size() + own_cases, failures, report.outcome.failure ? 1 : 0,
      findings.size() - failures, report.elapsed_seconds, rfc3339(report.started_at), cases);
}

std::string findings_markdown(const Report& report) {
  std::string out = fmt::format("### {}: ", title(report));
  if (report.outcome.failure) return out + fmt::format("failed\n\n{}\n", cell(printable(report.outcome.failure->text)));
  const std::vector<Finding> findings = findings_of(report);
  if (findings.empty()) return out + "no problems\n";
  out += text_of(report.result, "problems_total") + " problems\n";
  out += "\n| severity | code | place | what it means |\n|---|---|---|---|\n";
  for (const Finding& finding : findings) {
    out += fmt::format("| {} | `{}` | {} | {} |\n", finding.error ? "error" : "warning", finding.code,
                       cell(finding.place), cell(finding.text));
  }
  return out;
}

}  // namespace shardkit
