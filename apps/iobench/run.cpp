#include "bench/run/run.hpp"

#include <algorithm>
#include <iterator>
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

/// The kind of interval over repetitions: fewer than 6 values have no interval of 95 % (stats/summary.hpp).
std::string interval_name(const bench::RunResult& result) {
  constexpr std::size_t kLeastRepetitions = 6;
  const std::size_t repetitions = result.repetitions.size();
  return repetitions > 0 && repetitions < kLeastRepetitions ? fmt::format("range of {}", repetitions) : "95 % interval";
}

/// For a job that is far too small for the node the value itself is not useful.
std::string headroom_text(const std::optional<double>& ratio) {
  constexpr double kMost = 1000;
  if (!ratio) return "-";
  return *ratio > kMost ? "> 1000 x" : fmt::format("{:.2f} x", *ratio);
}

void ladder(const bench::RunResult& result, std::string& out) {
  auto to = std::back_inserter(out);
  const char* available = result.repetitions.empty() ? "available" : "median";
  fmt::format_to(to, "{:<10}{:>12}{:>12}{:>24}{:>10}\n", "stage", "needed", available, interval_name(result),
                 "headroom");
  for (const bench::LadderRow& row : result.conclusion.ladder) {
    const std::string headroom = headroom_text(row.headroom_ratio);
    const std::string interval =
        row.interval ? fmt::format("{} to {}", per_second_cell(row.interval->low), per_second_cell(row.interval->high))
                     : "-";
    fmt::format_to(to, "{:<10}{:>12}{:>12}{:>24}{:>10}  {}\n", row.stage, per_second_cell(row.required_per_second),
                   per_second_cell(row.measured_per_second), interval, headroom, row.note);
  }
  const auto& rows = result.conclusion.ladder;
  if (std::ranges::find(rows, "transfer", &bench::LadderRow::stage) != rows.end()) return;
  fmt::format_to(to, "{:<10}{:>12}{:>12}{:>24}{:>10}  {}\n", "transfer", "-", "-", "-", "-", result.transfer.text);
}

/// Except for its rate, all values of a stage come from one repetition.
std::string shown_repetitions(const bench::ShownRepetitions& shown) {
  std::string text = fmt::format(
      "hints, and the stages in the JSON, come from the repetitions with the median rate: read from repetition {}",
      shown.read);
  if (shown.decode) text += fmt::format(", decode from repetition {}", *shown.decode);
  if (shown.pipeline) text += fmt::format(", pipeline from repetition {}", *shown.pipeline);
  if (shown.transfer) text += fmt::format(", transfer from repetition {}", *shown.transfer);
  return text + "\n";
}

void repeated(const bench::RunResult& result, std::string& out) {
  if (result.repeated.empty()) return;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\nmedian of {} repetitions ({}), and the range expected for the median of as many more:\n",
                 result.repetitions.size(), interval_name(result));
  for (const bench::RepeatedMetric& row : result.repeated) fmt::format_to(to, "{:<38}{}\n", row.metric, row.text);
  if (result.shown_repetitions) out += shown_repetitions(*result.shown_repetitions);
}

/// Those whose samples are like the data: JPEGs, or not.
void presets(const bench::RunResult& result, std::string& out) {
  auto to = std::back_inserter(out);
  const auto& rows = result.conclusion.presets;
  if (!rows.empty()) fmt::format_to(to, "\n{:<20}{:>10}{:>14}{:>14}\n", "preset", "GPUs fed", "samples/s", "bytes/s");
  for (const bench::PresetRow& row : rows) {
    if (bench::find_preset(row.name).jpeg != result.decode.has_value()) continue;
    fmt::format_to(to, "{:<20}{:>10}{:>14}{:>14}  {}\n", row.name, row.gpus_fed.value_or(0),
                   per_second_cell(row.samples_per_second), format_rate(row.bytes_per_second), row.edition);
  }
}

void environment(const bench::RunResult& result, std::string& out) {
  const bench::Environment& machine = result.environment;
  auto to = std::back_inserter(out);
  const std::string limit = machine.cpu_limit ? fmt::format(" (limit {:.2f})", *machine.cpu_limit) : "";
  fmt::format_to(to, "\n{}{}, {} memory, {} free in /dev/shm\n", format_count(machine.usable_threads, "core"), limit,
                 format_rounded_size(static_cast<double>(machine.usable_memory)),
                 format_rounded_size(static_cast<double>(machine.dev_shm.value_or(0))));
  const system::StorageFacts& storage = machine.storage;
  if (result.read.store) {
    fmt::format_to(to, "data at {}\n", result.read.store->location);
    return;
  }
  if (storage.file_system.empty()) {
    out += "data on an unknown file system\n";  // such as in a chroot, whose / no mount table lists
    return;
  }
  const bool is_fuse = storage.storage_class == system::StorageClass::fuse;  // its process works for this one
  fmt::format_to(to, "data on {}{}{} at {}{}\n", storage.file_system, storage.device.empty() ? "" : ", ",
                 storage.device, storage.mount_point, is_fuse ? "; load of other processes unknown (FUSE)" : "");
}

void file_costs(const bench::RunResult& result, std::string& out) {
  if (!result.file_costs) return;
  const bench::FileCosts& costs = *result.file_costs;
  fmt::format_to(std::back_inserter(out), "per file: open {}, stat {}, read {}, close {}",
                 format_duration(costs.open_seconds), format_duration(costs.stat_seconds),
                 format_duration(costs.read_seconds), format_duration(costs.close_seconds));
  out += "\n";
}

}  // namespace

cli::Answer answer_run(const bench::RunResult& result) {
  const bench::Conclusion& conclusion = result.conclusion;
  cli::Answer answer{.headline = conclusion.verdict.text};
  if (conclusion.ladder.empty()) {  // interrupted before the end of all stages
    answer.next = {result.command};
    return answer;
  }
  std::string& out = answer.body;
  auto to = std::back_inserter(out);
  if (!conclusion.feeds.empty()) fmt::format_to(to, "{}\n", conclusion.feeds);
  if (!conclusion.verdict.remedy.empty()) fmt::format_to(to, "{}\n", conclusion.verdict.remedy);
  if (conclusion.predicted.au_serial_ratio) {
    fmt::format_to(to, "predicted AU: {:.0f} % when loading overlaps compute fully, {:.0f} % without overlap\n",
                   *conclusion.predicted.au_ratio * 100, *conclusion.predicted.au_serial_ratio * 100);
  }
  out += '\n';
  ladder(result, out);
  repeated(result, out);
  presets(result, out);
  out += '\n' + loader_text(conclusion.loader, true);
  environment(result, out);
  file_costs(result, out);
  for (const std::string& hint : result.read.hints) fmt::format_to(to, "hint: {}\n", hint);
  // A job that is fed needs no advice. Where others disturbed the measurement, the first line says so.
  const bool is_fed = conclusion.requirement && conclusion.verdict.ok.value_or(true);
  const bool is_decoded =
      std::ranges::find(conclusion.ladder, "decode", &bench::LadderRow::stage) != conclusion.ladder.end();
  if (result.pipeline && is_decoded && !is_fed && !result.neighbors.disturb()) {
    for (const std::string& advice : result.pipeline->advice) fmt::format_to(to, "hint: {}\n", advice);
  }
  fmt::format_to(to, "same again: {}\n", cli::printable(result.command));
  return answer;
}

cli::Command run_command() {
  return cli::make_command<bench::RunOptions, bench::RunResult>(
      {.name = "run",
       .summary = "measure how many GPUs this node can feed, and name the bottleneck",
       .description = "Looks at the machine, reads the data (from a cold cache if possible), decodes and augments its "
                      "images, then does all of it at once. Compares the result with the needs of a job: a preset, or "
                      "--gpus, --batch and --step-time. If there is a GPU, also measures copying batches to it. The "
                      "verdict comes first: the bottleneck, its headroom, and what would close the gap. Exit code 3 if "
                      "the requirement is missed; 1 if it is missed but other processes disturbed the "
                      "measurement.\n\nWithout a job, reports how many GPUs of each published workload "
                      "the node can feed. Writes nothing.",
       .examples = {{"iobench run shards/train", "how many GPUs can this node feed?"},
                    {"iobench run shards/train --preset resnet50-h100 --gpus 8", "is it fast enough for these eight?"},
                    {"iobench run shards --gpus 8 --batch 256 --step-time 200ms --json run.json",
                     "your own job, with the result as JSON"}},
       .main = {"preset", "gpus", "batch", "step-time", "threads", "workers", "python", "cache", "budget", "repeat"},
       .prometheus = true,
       .about_node = true,
       .doubts = true},
      bench::run, answer_run);
}

}  // namespace shardkit::apps
