#include "bench/sweep/sweep.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "core/units.hpp"
#include "iobench/cells.hpp"
#include "iobench/loader_text.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

std::string value_text(const bench::SweepRow& row) {
  return row.parameter == bench::SweepParameter::block ? typed_size(row.value) : format_count(row.value);
}

std::string rate_text(const bench::SweepRow& row, const std::optional<double>& rate) {
  return rate && row.bytes_per_second ? format_rate(*rate) : per_second_cell(rate);
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
  fmt::format_to(to, "\n{} per point{}\n", format_duration(result.point_seconds),
                 intervals ? "; from and to are the 95 % interval over slices of 0.1 s" : "");
  if (result.loader) out += '\n' + loader_text(*result.loader, false, result.neighbors.disturb());
  return answer;
}

cli::Command sweep_command() {
  return cli::make_command<bench::SweepOptions, bench::SweepResult>(
      {.name = "sweep",
       .summary = "find the best workers, prefetch, threads, block and queue depth",
       .description =
           "Tries one setting after the other, from small to large, until two values in a row gain less than 5 %. "
           "Chooses the smallest value that reaches 95 % of the best rate. Reading settings come first: threads, block "
           "size, queue depth with io_uring. Then loading: decoding workers, and batches prefetched beside a step that "
           "takes as long as a batch. Then prints the code of a PyTorch DataLoader. Every point starts from the same "
           "page cache state.",
       .examples = {{"iobench sweep shards/train", "about three minutes, from disk"},
                    {"iobench sweep shards/train --mode read --budget 1m", "storage only"},
                    {"iobench sweep shards --mode load --cache warm --batch 256 --step-time 200ms",
                     "only the loader of a job"}},
       .about_node = true},
      bench::sweep, answer_sweep);
}

}  // namespace shardkit::apps
