#include "shardctl/problems.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/ci_report.hpp"
#include "cli/field_text.hpp"

namespace shardkit {
namespace {

/// Where a problem is: shard, offset and key, those that there are.
std::string place_of(const Problem& problem) {
  std::string place = problem.shard.empty() ? "the set" : printable(problem.shard);
  if (problem.offset) place += " at byte " + format_value(*problem.offset, Unit::none);
  if (!problem.key.empty()) place += ", " + printable(problem.key);
  return place;
}

/// A failed case for each error and a skipped one for each warning, by shard and code; a passed one for a run without
/// errors.
std::vector<CiCase> ci_cases(std::string_view title, const std::vector<Problem>& problems) {
  std::vector<CiCase> cases;
  if (std::ranges::find(problems, Severity::error, &Problem::severity) == problems.end()) {
    cases.push_back({std::string(title), "no errors", CiCase::Outcome::passed, {}});
  }
  for (const Problem& problem : problems) {
    cases.push_back({problem.shard.empty() ? "set" : printable(problem.shard), problem.code,
                     problem.severity == Severity::error ? CiCase::Outcome::failed : CiCase::Outcome::skipped,
                     fmt::format("{}: {}", place_of(problem), printable(problem.text))});
  }
  return cases;
}

}  // namespace

CiReport problem_report(std::string_view title, const std::vector<Problem>& problems, std::uint64_t total) {
  CiReport report{ci_cases(title, problems), "no problems", {}};
  if (problems.empty()) return report;
  report.conclusion = format_value(total, Unit::count) + " problems";
  report.details = "\n| severity | code | place | what it means |\n|---|---|---|---|\n";
  for (const Problem& problem : problems) {
    report.details +=
        fmt::format("| {} | `{}` | {} | {} |\n", problem.severity == Severity::error ? "error" : "warning",
                    problem.code, markdown_text(place_of(problem)), markdown_text(printable(problem.text)));
  }
  return report;
}

}  // namespace shardkit
