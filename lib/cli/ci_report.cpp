#include "cli/ci_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/field_text.hpp"
#include "system/clock.hpp"

namespace shardkit::cli {
namespace {

/// "iobench compare"
std::string report_title(const Report& report) { return fmt::format("{} {}", report.program, report.verb); }

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

std::string junit_xml(const Report& report, const CiReport& found) {
  const bool failed = report.outcome.failure.has_value();
  const auto count = [&](CiCase::Outcome outcome) {
    return failed ? 0 : std::ranges::count(found.cases, outcome, &CiCase::outcome);
  };
  std::string elements = failed ? failed_run(report) : "";
  if (!failed) {
    for (const CiCase& one : found.cases) elements += element(one);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" "
      "errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\" timestamp=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
      xml(report_title(report)), failed ? 1 : found.cases.size(), count(CiCase::Outcome::failed), failed ? 1 : 0,
      count(CiCase::Outcome::skipped), report.elapsed_seconds, system::rfc3339(report.started_at), elements);
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '<' || c == '*' || c == '_') out += '\\';
    out += c;
  }
  return out;
}

std::string ci_markdown(const Report& report, const CiReport& found) {
  const std::string head = fmt::format("### {}: ", report_title(report));
  if (!report.outcome.failure) return fmt::format("{}{}\n{}", head, found.conclusion, found.details);
  return fmt::format("{}failed\n\n{}\n", head, markdown_text(printable(report.outcome.failure->text)));
}

}  // namespace shardkit::cli
