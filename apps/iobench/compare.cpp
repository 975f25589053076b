#include "bench/compare/compare.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "core/markup.hpp"
#include "core/metric_text.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

std::string value_or_none(const std::string& value) { return value.empty() ? "-" : cli::printable(value); }

Tone tone_of(const bench::CompareResult& result) {
  const auto gate_is = [&](bench::GateVerdict verdict) {
    return std::ranges::find(result.gate, verdict, &bench::GateRow::verdict) != result.gate.end();
  };
  using enum stats::ChangeVerdict;
  if (result.verdict == regressed || result.verdict == incomparable || gate_is(bench::GateVerdict::missed)) {
    return Tone::bad;
  }
  if (result.verdict == inconclusive || gate_is(bench::GateVerdict::inconclusive) ||
      gate_is(bench::GateVerdict::absent)) {
    return Tone::unclear;
  }
  return Tone::good;
}

void print_differences(const std::vector<bench::Difference>& differences, std::string& out) {
  if (differences.empty()) return;
  out += "\nmeasured differently:\n";
  for (const bench::Difference& d : differences) {
    const char* weight = !d.decisive ? "" : d.allowed ? "  allowed" : "  not comparable";
    fmt::format_to(std::back_inserter(out), "  {}: {} -> {}{}\n", cli::printable(d.key), value_or_none(d.base),
                   value_or_none(d.changed), weight);
  }
}

/// Verdict, name and text of each requirement; the text below the name if that is too wide for a terminal.
void print_gate(const std::vector<bench::GateRow>& rows, std::string& out) {
  constexpr std::size_t kIndent = 14;
  if (rows.empty()) return;
  std::size_t width = 0;
  std::size_t text_width = 0;
  for (const bench::GateRow& row : rows) width = std::max(width, row.metric.size());
  for (const bench::GateRow& row : rows) text_width = std::max(text_width, row.text.size());
  const bool fits = kIndent + width + 2 + text_width <= cli::kReportColumns;
  const auto to = std::back_inserter(out);
  out += '\n';
  for (const bench::GateRow& row : rows) {
    fmt::format_to(to, "{:<12}  {:<{}}", enum_name(row.verdict), row.metric, fits ? width : 0);
    if (fits) fmt::format_to(to, "  {}", row.text);
    out += '\n';
    if (fits) continue;
    for (const std::string& line : cli::wrap(row.text, cli::kReportColumns - kIndent)) {
      fmt::format_to(to, "{:{}}{}\n", "", kIndent, line);
    }
  }
}

/// One line for each metric, so that all fit a terminal; intervals and p values are in the JSON and with --verbose.
void print_rows(const std::vector<bench::CompareRow>& rows, std::string& out) {
  if (rows.empty()) return;
  std::vector<std::string> changes;
  for (const bench::CompareRow& row : rows) {
    changes.push_back(row.change.ratio ? bench::signed_percent(*row.change.ratio) : "-");
  }
  const std::size_t width =
      std::ranges::max_element(rows, {}, [](const auto& row) { return row.metric.size(); })->metric.size();
  const std::size_t change_width = std::ranges::max_element(changes, {}, &std::string::size)->size();
  const auto to = std::back_inserter(out);
  out += '\n';
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bench::CompareRow& row = rows[i];
    const Unit unit = bench::compare_metric(row.metric, "metric").unit;
    fmt::format_to(to, "{:<13} {:<{}} {:>{}}  {} to {}\n",
                   fmt::format("{}{}", enum_name(row.change.verdict), row.derived ? "*" : ""), row.metric, width,
                   changes[i], change_width, metric_text(row.base, unit), metric_text(row.changed, unit));
  }
  if (std::ranges::any_of(rows, &bench::CompareRow::derived)) out += "* follows from others and does not count\n";
}

cli::CiCase::Outcome outcome_of(stats::ChangeVerdict verdict, bool fail_on_inconclusive) {
  using enum stats::ChangeVerdict;
  if (verdict == pass || verdict == improved) return cli::CiCase::Outcome::passed;
  if (verdict == inconclusive && !fail_on_inconclusive) return cli::CiCase::Outcome::skipped;
  if (verdict == incomparable) return cli::CiCase::Outcome::skipped;  // the difference is the failure
  return cli::CiCase::Outcome::failed;
}

cli::CiCase::Outcome outcome_of(bench::GateVerdict verdict, bool fail_on_inconclusive) {
  if (verdict == bench::GateVerdict::met) return cli::CiCase::Outcome::passed;
  if (verdict == bench::GateVerdict::inconclusive && !fail_on_inconclusive) return cli::CiCase::Outcome::skipped;
  return cli::CiCase::Outcome::failed;
}

bool makes_incomparable(const bench::Difference& difference) { return difference.decisive && !difference.allowed; }

/// A case for each metric and requirement, and a failed one for each difference that makes results incomparable.
std::vector<cli::CiCase> ci_cases(const bench::CompareResult& result) {
  const bool strict = result.strict;
  std::vector<cli::CiCase> cases;
  for (const bench::Difference& d : result.differences) {
    if (!makes_incomparable(d)) continue;
    cases.push_back({"conditions", cli::printable(d.key), cli::CiCase::Outcome::failed,
                     fmt::format("{} in BASE, {} in NEW", value_or_none(d.base), value_or_none(d.changed))});
  }
  for (const bench::CompareRow& row : result.rows) {
    const stats::ChangeVerdict verdict = row.change.verdict;
    cases.push_back({"metrics", cli::printable(row.metric),
                     row.derived ? cli::CiCase::Outcome::skipped : outcome_of(verdict, strict),
                     fmt::format("{}: {}", enum_name(verdict), cli::printable(row.text))});
  }
  for (const bench::GateRow& row : result.gate) {
    cases.push_back({"gate", cli::printable(row.metric), outcome_of(row.verdict, strict),
                     fmt::format("{}: {}", enum_name(row.verdict), cli::printable(row.text))});
  }
  return cases;
}

stats::ChangeVerdict verdict_of(const bench::CompareRow& row) { return row.change.verdict; }
bench::GateVerdict verdict_of(const bench::GateRow& row) { return row.verdict; }

template <class Row>
void add_table(const std::vector<Row>& rows, std::string& out) {
  if (rows.empty()) return;
  out += "\n| verdict | metric | result |\n|---|---|---|\n";
  for (const Row& row : rows) {
    fmt::format_to(std::back_inserter(out), "| {} | `{}` | {} |\n", enum_name(verdict_of(row)),
                   cli::printable(row.metric), markdown_text(cli::printable(row.text)));
  }
}

cli::CiReport compare_ci(const bench::CompareResult& result) {
  cli::CiReport report{ci_cases(result), markdown_text(cli::printable(result.text)), {}};
  std::string& out = report.details;
  if (!result.differences.empty()) out += "\n| measured differently | BASE | NEW | |\n|---|---|---|---|\n";
  for (const bench::Difference& d : result.differences) {
    fmt::format_to(std::back_inserter(out), "| `{}` | {} | {} | {} |\n", cli::printable(d.key),
                   markdown_text(value_or_none(d.base)), markdown_text(value_or_none(d.changed)),
                   makes_incomparable(d) ? "not comparable" : "");
  }
  add_table(result.rows, out);
  add_table(result.gate, out);
  for (const std::string& hint : result.hints) out += fmt::format("\n{}\n", markdown_text(hint));
  return report;
}

/// The verdict, the differences between both measurements' conditions, then each metric: signed change and medians.
cli::Answer answer_compare(const bench::CompareResult& result) {
  cli::Answer answer{.headline = result.text, .tone = tone_of(result)};
  std::string& out = answer.body;
  print_differences(result.differences, out);
  print_rows(result.rows, out);
  print_gate(result.gate, out);
  if (!result.hints.empty()) out += '\n';
  for (const std::string& hint : result.hints) out += fmt::format("hint: {}\n", hint);
  return answer;
}

}  // namespace

cli::Command compare_command() {
  return cli::make_command<bench::CompareOptions, bench::CompareResult>(
      {.name = "compare",
       .summary = "compare results or commands, or check a result against a gate",
       .description =
           "Compares runs of NEW with runs of BASE. Prints first what differs in how they were measured. Then prints "
           "each metric with its change, the interval of that change and a verdict: pass, regressed, improved, "
           "inconclusive or incomparable.\n\nRuns differ more than the repetitions within a run, so use --ab: it runs "
           "two commands alternately and compares them pair by pair. Each command writes its result to the path in "
           "$SHARDKIT_RESULT. iobench does so by itself. Results and folders with one result per run are compared, "
           "too.\n\nRegressed means that a t test shows a change and that the whole interval lies beyond the "
           "threshold. At most 1 comparison in 100 reports a regression because of noise, however many metrics it has. "
           "With too few runs to show how much they differ, a deviation of 5 % between runs is assumed. If other "
           "processes disturbed a side, the result is inconclusive."
           "\n\nExit code 3 if a metric regressed, the results are incomparable or the gate "
           "is missed. Exit code 0 if the result is inconclusive, unless --strict is given.",
       .examples = {{"iobench compare --ab \"old/iobench decode photos\" \"new/iobench decode photos\"",
                     "run both programs ten times alternately and compare them"},
                    {"iobench compare before.json after.json", "two results, each of a single run"},
                    {"iobench compare base/ new/ --threshold 3%,read.latency_seconds.p99=20%",
                     "two folders with one result per run"},
                    {"iobench compare node.json --save-baseline fleet.json --class h100-nvme",
                     "add the result of a good node of this class to the baseline"},
                    {"iobench compare fleet.json node17.json --class h100-nvme --junit compare.xml",
                     "compare another node with that baseline"},
                    {"iobench compare node17.json --gate samples/ci/gate.json",
                     "does the node meet what the fleet requires?"}}},
      bench::compare, answer_compare, compare_ci);
}

}  // namespace shardkit::apps
