#include "bench/sweep/sweep.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/app.hpp"
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

std::string rate_text(const bench::SweepRow& row) {
  return row.bytes_per_second ? format_rate(*row.bytes_per_second) : per_second_cell(row.samples_per_second);
}

/// "threads   1: 1.89 GB/s, 2: 2.85 GB/s <- knee, 4: 2.84 GB/s": a parameter, on as many lines as a terminal needs.
std::string curve_text(bench::SweepParameter parameter, const std::vector<bench::SweepRow>& rows) {
  constexpr std::size_t kIndent = 10;
  std::vector<std::string> lines{fmt::format("{:<{}}", enum_name(parameter), kIndent)};
  for (const bench::SweepRow& row : rows) {
    if (row.parameter != parameter) continue;
    const std::string point = fmt::format("{}: {}{}", value_text(row), rate_text(row), row.knee ? " <- knee" : "");
    const bool is_first = lines.back().size() == kIndent;
    if (!is_first && lines.back().size() + 3 + point.size() > cli::kReportColumns) {  // with a comma at the end
      lines.back() += ',';
      lines.emplace_back(kIndent, ' ');
    } else if (!is_first) {
      lines.back() += ", ";
    }
    lines.back() += point;
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

/// The code if `most` rows have space for it beside the curves; otherwise a line.
void add_loader(const bench::SweepResult& result, std::size_t most, cli::Answer& answer) {
  constexpr std::size_t kRowsOfOthers = 5;  // the first line on two, the next command, the node, the prompt
  const bool is_disturbed = result.neighbors.disturb();
  const std::string hint = reshard_hint(*result.loader);
  const std::string code = '\n' + loader_text(*result.loader, false, is_disturbed);
  const auto rows = std::ranges::count(answer.body + code, '\n') +
                    (hint.empty() ? 0 : std::ssize(cli::wrap("hint: " + hint, cli::kReportColumns)));
  if (static_cast<std::size_t>(rows) + kRowsOfOthers <= most) {
    answer.code = code;
  } else {
    answer.body += '\n' + short_loader_text(*result.loader, is_disturbed);
  }
  if (!hint.empty()) answer.hints.push_back(hint);
}

}  // namespace

cli::Answer answer_sweep(const bench::SweepResult& result, std::size_t rows) {
  cli::Answer answer{.headline = result.text, .next = result.commands};
  std::string& out = answer.body;
  out += '\n';
  for (std::size_t i = 0; i < kEnumNames<bench::SweepParameter>.size(); ++i) {
    const auto parameter = static_cast<bench::SweepParameter>(i);
    if (std::ranges::find(result.rows, parameter, &bench::SweepRow::parameter) != result.rows.end()) {
      out += curve_text(parameter, result.rows);
    }
  }
  const bool has_intervals = std::ranges::any_of(result.rows, [](const auto& row) { return row.low.has_value(); });
  fmt::format_to(std::back_inserter(out), "{} per point{}\n", format_duration(result.point_seconds),
                 has_intervals ? "; intervals with --verbose" : "");
  if (result.loader) add_loader(result, rows, answer);
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
       .labels = true,
       .about_node = true},
      bench::sweep, [](const bench::SweepResult& result) { return answer_sweep(result, cli::rows_of(STDOUT_FILENO)); });
}

}  // namespace shardkit::apps
