#include "shardctl/reports.hpp"

#include <algorithm>
#include <map>
#include <ranges>

#include <fmt/format.h>

#include "cli/field_text.hpp"
#include "core/markup.hpp"
#include "core/units.hpp"

namespace shardkit::apps {
namespace {

/// The position of a problem: shard, offset and key, if known.
std::string position_of(const dataset::Problem& problem) {
  std::string position = problem.where.path.empty() ? "the set" : cli::printable(problem.where.path);
  if (problem.where.offset) position += fmt::format(" at byte {}", *problem.where.offset);
  if (!problem.key.empty()) position += ", " + cli::printable(problem.key);
  return position;
}

/// The faults of one file: the most severe one decides the case, all are in its message.
cli::CiCase ci_case(const std::string& file, const std::vector<const dataset::Problem*>& problems, bool strict) {
  using Outcome = cli::CiCase::Outcome;
  const bool failed = std::ranges::any_of(
      problems, [&](const dataset::Problem* problem) { return strict || problem->severity == Severity::error; });
  std::string message;
  for (const dataset::Problem* problem : problems) {
    message += fmt::format("{}{}: {}: {}", message.empty() ? "" : "\n", problem->code, position_of(*problem),
                           cli::printable(problem->text));
  }
  const Outcome found = failed ? Outcome::failed : Outcome::skipped;
  const std::string name = file.empty() ? "the set" : cli::printable(file);
  return {name, name, problems.empty() ? Outcome::passed : found, message};
}

/// A case for each of `files`, for the set, and for each other file with a problem.
std::vector<cli::CiCase> ci_cases(const std::vector<dataset::Problem>& problems, std::vector<std::string> files,
                                  bool strict) {
  files.emplace_back();
  std::map<std::string, std::vector<const dataset::Problem*>> by_file;
  for (const std::string& file : files) by_file[file];
  for (const dataset::Problem& problem : problems) {
    const auto [found, is_new] = by_file.try_emplace(problem.where.path);
    if (is_new) files.push_back(problem.where.path);
    found->second.push_back(&problem);
  }
  std::vector<cli::CiCase> cases;
  for (const std::string& file : files) cases.push_back(ci_case(file, by_file[file], strict));
  return cases;
}

/// "train: 900 samples in 3 shards; val: 100 samples in 1 shard"
std::string sets_text(const std::vector<dataset::WrittenSet>& sets) {
  std::string text;
  for (const dataset::WrittenSet& set : sets) {
    if (set.name.empty()) continue;
    text += fmt::format("{}{}: {} in {}", text.empty() ? "" : "; ", set.name, format_count(set.samples, "sample"),
                        format_count(set.shards, "shard"));
  }
  return text;
}

}  // namespace

cli::CiReport problem_report(const std::vector<dataset::Problem>& problems, std::uint64_t total, bool strict,
                             const std::vector<std::string>& files) {
  cli::CiReport report{ci_cases(problems, files, strict), "no problems", {}};
  if (problems.empty()) return report;
  report.conclusion = cli::format_value(total, Unit::count) + " problems";
  report.details = "\n| severity | code | location | meaning |\n|---|---|---|---|\n";
  for (const dataset::Problem& problem : problems) {
    report.details +=
        fmt::format("| {} | `{}` | {} | {} |\n", problem.severity == Severity::error ? "error" : "warning",
                    problem.code, markdown_text(position_of(problem)), markdown_text(cli::printable(problem.text)));
  }
  return report;
}

std::string findings_text(const std::vector<dataset::Problem>& problems, std::uint64_t total) {
  constexpr std::size_t most_shown = 3;
  std::map<std::pair<Severity, std::string_view>, std::vector<const dataset::Problem*>> kinds;
  for (const dataset::Problem& problem : problems) kinds[{problem.severity, problem.code}].push_back(&problem);
  std::string out;
  for (const auto& [kind, found] : kinds) {
    std::uint64_t count = 0;
    for (const dataset::Problem* problem : found) count += problem->count;
    out += fmt::format("  {} {}: {}\n", kind.first == Severity::error ? "error" : "warning", kind.second,
                       format_count(count, "finding"));
    total -= count;
    for (const dataset::Problem* problem : found | std::views::take(most_shown)) {
      count -= problem->count;
      out += fmt::format("    {}: {}\n", position_of(*problem), cli::printable(problem->text));
    }
    if (count > 0) out += fmt::format("    and {} more; --json lists up to 20 of each shard\n", format_count(count));
  }
  if (total > 0) out += fmt::format("  and {} that the result has no line for\n", format_count(total, "more finding"));
  return out;
}

cli::Answer answer_of(const dataset::WrittenSets& written, const dataset::WriteOptions& options,
                      const std::string& target, const std::string& again) {
  cli::Answer answer;
  answer.subject = target;
  if (const auto& dry = written.dry_run) {
    answer.headline =
        fmt::format("dry run: {} to write, {}, checked", format_count(dry->shards, "shard"), format_size(dry->bytes));
    answer.facts = {{"resumed", written.resumed.value_or("")},
                    {"free", dry->free_bytes ? format_size(*dry->free_bytes) : ""}};
    answer.next = {again};
    return answer;
  }
  answer.headline = fmt::format("{} -> {}, {}", format_count(written.samples, "sample"),
                                format_count(written.shards, "shard"), format_size(written.bytes));
  answer.facts.emplace_back("sets", sets_text(written.sets));
  answer.facts.emplace_back("resumed", written.resumed.value_or(""));
  if (written.shards_written > 0) {
    answer.facts.emplace_back("rate", fmt::format("{} samples/s, {}", format_rounded_count(written.files_per_second),
                                                  format_rate(written.bytes_per_second)));
  }
  for (const dataset::WrittenSet& set : written.sets) {
    const std::string folder = shell_word(set.name.empty() ? target : target + "/" + set.name);
    answer.next.push_back(options.in_parts() ? fmt::format("shardctl merge {}  # when all parts have finished", folder)
                                             : "shardctl verify " + folder);
  }
  return answer;
}

}  // namespace shardkit::apps
