#include "shardctl/problems.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/field_text.hpp"
#include "cli/report_formats.hpp"

namespace shardkit::apps {
namespace {

/// Where a problem is: shard, offset and key, those that there are.
std::string place_of(const dataset::Problem& problem) {
  std::string place = problem.shard.empty() ? "the set" : cli::printable(problem.shard);
  if (problem.offset) place += " at byte " + cli::format_value(*problem.offset, Unit::none);
  if (!problem.key.empty()) place += ", " + cli::printable(problem.key);
  return place;
}

/// A failed case for each error and a skipped one, when `strict` a failed one too, for each warning, by shard and code;
/// a passed one for a run without failed ones.
std::vector<cli::CiCase> ci_cases(std::string_view title, const std::vector<dataset::Problem>& problems, bool strict) {
  using Outcome = cli::CiCase::Outcome;
  const auto outcome = [&](const dataset::Problem& problem) {
    return strict || problem.severity == dataset::Severity::error ? Outcome::failed : Outcome::skipped;
  };
  std::vector<cli::CiCase> cases;
  if (std::ranges::find(problems, Outcome::failed, outcome) == problems.end()) {
    cases.push_back({std::string(title), "no errors", Outcome::passed, {}});
  }
  for (const dataset::Problem& problem : problems) {
    cases.push_back({problem.shard.empty() ? "set" : cli::printable(problem.shard), problem.code, outcome(problem),
                     fmt::format("{}: {}", place_of(problem), cli::printable(problem.text))});
  }
  return cases;
}

}  // namespace

cli::CiReport problem_report(std::string_view title, const std::vector<dataset::Problem>& problems, std::uint64_t total,
                             bool strict) {
  cli::CiReport report{ci_cases(title, problems, strict), "no problems", {}};
  if (problems.empty()) return report;
  report.conclusion = cli::format_value(total, Unit::count) + " problems";
  report.details = "\n| severity | code | place | what it means |\n|---|---|---|---|\n";
  for (const dataset::Problem& problem : problems) {
    report.details += fmt::format(
        "| {} | `{}` | {} | {} |\n", problem.severity == dataset::Severity::error ? "error" : "warning", problem.code,
        cli::markdown_text(place_of(problem)), cli::markdown_text(cli::printable(problem.text)));
  }
  return report;
}

}  // namespace shardkit::apps
