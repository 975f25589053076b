#include "bench/aggregate/aggregate.hpp"

#include <algorithm>
#include <iterator>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
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
  const auto in_table = [&](const bench::LeftOut& left_out) {
    return std::ranges::find(result.rows, left_out.file, &bench::FleetNode::file) != result.rows.end();
  };
  auto others = result.left_out;
  std::erase_if(others, in_table);
  for (const auto& file : others | std::views::take(5))
    answer.hints.push_back(fmt::format("left out: {}: {}", file.file, file.reason));
  if (others.size() > 5) answer.hints.push_back(fmt::format("{} more are left out", others.size() - 5));
  if (!result.suspects.empty()) {
    answer.hints.push_back(
        fmt::format("measure {} again, with the same options and together with healthy nodes, and add the results to "
                    "the others: `{}`",
                    listed(result.suspects, 5), remedy::measure_together(result.suspects, result.controls)));
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
           "them ran, so start them together with `iobench run --barrier` or --start-at. A node is slow if its "
           "two newest results have a rate far below the median of other nodes of its group that were measured at the "
           "same time. At most 1 in 1,000 healthy nodes is called slow. A node that is slow only in its newest result "
           "is a suspect: measure it again, together with healthy nodes. A node is not judged if it failed, was "
           "disturbed, has no result, or has "
           "too few equal nodes to compare with.\n\nExit code 3 if a node is slow, suspect or not judged, or misses "
           "the --gate. The commands at the end take slow nodes out of service.",
       .examples = {{"iobench aggregate results/ --group-by rack", "which nodes are slow in their rack?"},
                    {"iobench aggregate results/ --gate samples/ci/gate.json --json fleet.json",
                     "accept a fleet; `iobench report fleet.json -o fleet.html` makes a page"},
                    {"iobench aggregate results/ --alone node1-alone.json", "does the storage limit all together?"}},
       .prometheus = true,
       .schema_version = 2},
      bench::aggregate, answer_aggregate);
}

}  // namespace shardkit::apps
