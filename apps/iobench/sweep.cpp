#include "bench/sweep/sweep.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "core/units.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

std::string value_text(const bench::SweepRow& row) {
  return row.parameter == bench::SweepParameter::block ? format_size(row.value) : format_count(row.value);
}

std::string rate_text(const bench::SweepRow& row, const std::optional<double>& rate) {
  if (!rate) return "-";
  if (row.bytes_per_second) return format_rate(*rate);
  return format_rounded_count(*rate) + "/s";
}

}  // namespace

cli::Answer answer_sweep(const bench::SweepResult& result) {
  cli::Answer answer{.headline = result.text, .next = result.commands};
  std::string& out = answer.body;
  auto to = std::back_inserter(out);
  const bool intervals =
      std::ranges::any_of(result.rows, [](const bench::SweepRow& row) { return row.low.has_value(); });
  std::optional<bench::SweepParameter> parameter;
  for (const bench::SweepRow& row : result.rows) {
    if (row.parameter != parameter) {
      parameter = row.parameter;
      fmt::format_to(to, "\n{:<12}{:>14}", enum_name(row.parameter), "rate");
      if (intervals) fmt::format_to(to, "{:>14}{:>14}", "from", "to");
      out += "\n";
    }
    const auto& rate = row.bytes_per_second ? row.bytes_per_second : row.samples_per_second;
    fmt::format_to(to, "{:<12}{:>14}", value_text(row), rate_text(row, rate));
    if (intervals) fmt::format_to(to, "{:>14}{:>14}", rate_text(row, row.low), rate_text(row, row.high));
    out += row.knee ? "  <- knee\n" : "\n";
  }
  fmt::format_to(to, "\n{} for each point{}\n", format_duration(result.point_seconds),
                 intervals ? "; from and to are the 95 % interval over slices of 0.1 s" : "");
  return answer;
}

cli::Command sweep_command() {
  return cli::make_command<bench::SweepOptions, bench::SweepResult>(
      {.name = "sweep",
       .summary = "find the workers, prefetch, threads, block and depth that suit this node",
       .description =
           "Tries one setting after the other, each from small to large until two values in a row bring less than 5 %, "
           "and settles for the smallest that gives 95 % of the best: threads that read, bytes per read, reads under "
           "way with io_uring; then workers that decode, and batches made ahead of a step that takes as long as a "
           "batch does. Every point starts from the same state of the page cache.",
       .examples = {{"iobench sweep shards/train", "about three minutes, from the disk"},
                    {"iobench sweep shards/train --what read --direct --budget 1m", "storage alone"},
                    {"iobench sweep shards/train --what load --cache warm --batch 256 --step-time 200ms",
                     "the loader of a job"}},
       .about_node = true},
      bench::sweep, answer_sweep);
}

}  // namespace shardkit::apps
