#include "bench/aggregate/aggregate.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

/// The stages, then the slow nodes; a healthy fleet needs no list.
std::string body_of(const bench::AggregateResult& result) {
  constexpr std::size_t kMostRows = 12;
  std::string out;
  const auto to = std::back_inserter(out);
  for (const bench::StageSum& stage : result.stages) {
    if (stage.seconds == 0) continue;
    fmt::format_to(to, "  {:<10}{:>5} s in which all ran", stage.stage, stage.seconds);
    if (stage.bytes_per_second) fmt::format_to(to, "  {}", format_rate(*stage.bytes_per_second));
    if (stage.samples_per_second) fmt::format_to(to, "  {}/s", format_rounded_count(*stage.samples_per_second));
    out += '\n';
  }
  std::size_t shown = 0;
  for (const bench::FleetNode& row : result.rows) {
    if (row.text.empty() || ++shown > kMostRows) continue;
    fmt::format_to(to, "  {:<20}  {}\n", cli::printable(row.name), cli::printable(row.text));
  }
  if (shown > kMostRows) fmt::format_to(to, "  and {} more, in the JSON\n", shown - kMostRows);
  return out;
}

cli::Answer answer_aggregate(const bench::AggregateResult& result) {
  cli::Answer answer{.headline = result.text};
  answer.tone = result.has_findings() ? Tone::bad : Tone::good;
  if (result.ceiling) answer.remarks.push_back(result.ceiling->text);
  answer.body = body_of(result);
  for (std::size_t i = 0; i < std::min<std::size_t>(result.left_out.size(), 5); ++i) {
    answer.hints.push_back(fmt::format("left out: {}: {}", result.left_out[i].file, result.left_out[i].reason));
  }
  if (result.left_out.size() > 5)
    answer.hints.push_back(fmt::format("{} more are left out", result.left_out.size() - 5));
  if (!result.suspects.empty()) {
    answer.hints.push_back(
        fmt::format("measure {} again, add the result to the others, and aggregate again: a second slow run confirms "
                    "the first",
                    fmt::join(result.suspects, ", ")));
  }
  if (!result.exclude.empty()) {
    answer.next = remedy::exclude_nodes(result.exclude);
  }
  return answer;
}

}  // namespace

cli::Command aggregate_command() {
  return cli::make_command<bench::AggregateOptions, bench::AggregateResult>(
      {.name = "aggregate",
       .summary = "combine the results of many nodes, and find the slow ones",
       .description =
           "Reads the results of `iobench run` from many nodes. Adds their rates only over the seconds in which all of "
           "them ran, so start them together with `iobench run --barrier` or --start-at. A node is slow if at least "
           "two of its results, and all of them, have a rate far below the median of the other nodes of its group. "
           "Fewer than 1 in 100 healthy fleets lose a node to this rule. A node that is slow only in its newest result "
           "is a suspect: measure it again. A node is not judged if it failed, was disturbed, has no result, or has "
           "too few equal nodes to compare with.\n\nExit code 3 if a node is slow, suspect or not judged, or misses "
           "the --gate. The commands at the end take slow nodes out of service.",
       .examples = {{"iobench aggregate results/ --group-by rack", "which nodes are slow in their rack?"},
                    {"iobench aggregate results/ --gate samples/ci/gate.json --json fleet.json",
                     "accept a fleet; `iobench report fleet.json -o fleet.html` makes a page"},
                    {"iobench aggregate results/ --alone node1-alone.json", "does the storage limit all together?"}},
       .prometheus = true},
      bench::aggregate, answer_aggregate);
}

}  // namespace shardkit::apps
