#include "bench/pipeline/pipeline.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "core/units.hpp"
#include "iobench/cells.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

/// With one digit, because a stall of 0.5 % matters.
std::string percent(const std::optional<double>& ratio) { return percent_cell(ratio, 1); }

/// "1 shard", "200 files"
std::string source_text(const bench::PipelineResult& result) {
  constexpr std::array kNouns{"shard", "file", "null"};  // by SourceForm
  return format_count(result.files, kNouns[static_cast<std::size_t>(result.source)]);
}

void summary(const bench::PipelineResult& result, std::string& out) {
  auto to = std::back_inserter(out);
  const std::string required = result.required_samples_per_second
                                   ? " of " + per_second_cell(*result.required_samples_per_second) + " required"
                                   : "";
  fmt::format_to(to, "samples:       {}{}, {} of compressed images\n", per_second_cell(result.samples_per_second),
                 required, format_rate(result.bytes_per_second));
  fmt::format_to(to, "steps:         {}, each {} x {} or less; after the first batch AU {}, waiting {}\n", result.steps,
                 result.gpus, format_count(result.batch, "sample"), percent(result.au_ratio),
                 percent(result.stall_ratio));
  fmt::format_to(to, "batch latency: mean {}, p50 {}, p99 {}; the first batch {}\n",
                 format_duration(result.batch_latency.mean), format_duration(result.batch_latency.p50),
                 format_duration(result.batch_latency.p99), format_duration(result.first_batch_seconds));
  fmt::format_to(to, "source:        {}, cache {}; batches on {}\n", source_text(result),
                 result.cache.state == bench::CacheState::none ? "-" : enum_name(result.cache.state),
                 enum_name(result.sink));
  if (result.copies) {
    const bench::CopyReport& copies = *result.copies;
    fmt::format_to(to, "copies:        {} from {} memory to {}, {} each\n",
                   copies.bytes_per_second ? format_rate(*copies.bytes_per_second) : "none",
                   copies.pinned ? "pinned" : "pageable", format_count(copies.devices.size(), "GPU"),
                   format_rounded_size(static_cast<double>(copies.bytes / std::max<std::uint64_t>(copies.copies, 1))));
  }
  if (result.jpegs) {
    const bench::JpegReport& jpegs = *result.jpegs;
    fmt::format_to(to, "decoded by:    {}: {} in hardware, {} hybrid, {} GPU hybrid; CPU: {} refused, {} returned\n",
                   jpegs.decoder, format_count(jpegs.engines[0]), format_count(jpegs.engines[1]),
                   format_count(jpegs.engines[2]), format_count(jpegs.cpu), format_count(jpegs.returned));
  }
  fmt::format_to(to, "memory:        {} for batches, prefetch {}\n", format_rounded_size(result.batch_memory),
                 result.prefetch);
}

void stages(const bench::PipelineResult& result, std::string& out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{:<12}{:>8}{:>9}{:>9}{:>9}{:>16}\n", "stage", "threads", "busy", "starved", "blocked",
                 "CPU/sample");
  for (const bench::StageRow& row : result.stages) {
    if (row.busy_ratio == 0 && row.blocked_ratio == 0) continue;  // it had nothing to do
    fmt::format_to(to, "{:<12}{:>8}{:>9}{:>9}{:>9}{:>16}\n", row.name, row.threads, percent(row.busy_ratio),
                   percent(row.starved_ratio), percent(row.blocked_ratio), format_duration(row.cpu_seconds_per_sample));
  }
}

void epochs(const bench::PipelineResult& result, std::string& out) {
  if (result.epochs.size() < 2) return;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{:<8}{:>12}{:>12}{:>10}{:>14}{:>16}\n", "epoch", "in cache", "samples/s", "waiting",
                 "first batch", "boundary stall");
  for (const bench::EpochRow& row : result.epochs) {
    fmt::format_to(to, "{:<8}{:>12}{:>12}{:>10}{:>14}{:>16}\n", row.epoch, percent(row.residency_before_ratio),
                   per_second_cell(row.samples_per_second), percent(row.stall_ratio),
                   format_duration(row.first_batch_seconds),
                   row.boundary_stall_seconds ? format_duration(*row.boundary_stall_seconds) : "-");
  }
}

void prefetches(const bench::PipelineResult& result, std::string& out) {
  if (result.prefetches.size() < 2) return;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{:<10}{:>12}{:>10}{:>10}{:>12}{:>12}  {}\n", "prefetch", "samples/s", "AU", "waiting", "p50",
                 "p99", "limits");
  for (const bench::PrefetchRow& row : result.prefetches) {
    fmt::format_to(to, "{:<10}{:>12}{:>10}{:>10}{:>12}{:>12}  {}\n", row.prefetch,
                   per_second_cell(row.samples_per_second), percent(row.au_ratio), percent(row.stall_ratio),
                   format_duration(row.batch_latency.p50), format_duration(row.batch_latency.p99), row.limiting_stage);
  }
}

void ladder(const bench::PipelineResult& result, std::string& out) {
  if (result.ladder.empty()) return;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{:<26}{:>12}{:>9}{:>9}{:>10}{:>16}  {}\n", "loader", "samples/s", "factor", "AU", "waiting",
                 "CPU/sample", "limits");
  for (const bench::PipelineRung& row : result.ladder) {
    if (row.missing) {
      fmt::format_to(to, "{:<26}not measured: {}\n", row.rung, *row.missing);
      continue;
    }
    fmt::format_to(to, "{:<26}{:>12}{:>9}{:>9}{:>10}{:>16}  {}\n", row.rung, per_second_cell(*row.samples_per_second),
                   row.factor ? fmt::format("{:.2f}", *row.factor) : "-", percent(row.au_ratio),
                   percent(row.stall_ratio), format_duration(*row.process_cpu_seconds_per_sample), row.limiting_stage);
  }
}

void remarks(const bench::PipelineResult& result, std::string& out) {
  auto to = std::back_inserter(out);
  out += '\n';
  const bench::ToolOverhead& own = result.overhead;
  fmt::format_to(
      to, "overhead of iobench: {} of CPU per sample ({:.1f} % of the measured time), {} per batch, at most {}; ",
      format_duration(own.cpu_seconds_per_sample), own.share_ratio * 100, format_duration(own.cpu_seconds_per_batch),
      per_second_cell(own.samples_per_second));
  fmt::format_to(to, "step timer overhead {}\n", format_duration(own.step_late_mean));
  if (result.failures.total > 0) {
    fmt::format_to(to, "{} left out: {}\n", format_count(result.failures.total, "image"),
                   bench::kinds_text(result.failures));
  }
  if (result.trace)
    fmt::format_to(to, "trace: {} (open it in ui.perfetto.dev)\n", format_count(result.trace->events, "event"));
  for (const std::string& advice : result.advice) fmt::format_to(to, "hint: {}\n", advice);
}

}  // namespace

cli::Answer answer_pipeline(const bench::PipelineResult& result) {
  const std::string last = result.ladder.empty() ? "" : result.ladder.back().rung + ": ";
  const std::string pace = result.limiting_stage.empty() ? "" : result.limiting_stage + " is the bottleneck: ";
  cli::Answer answer{.headline = last + pace + result.reason};
  std::string& out = answer.body;
  summary(result, out);
  stages(result, out);
  epochs(result, out);
  prefetches(result, out);
  ladder(result, out);
  remarks(result, out);
  return answer;
}

cli::Command pipeline_command() {
  return cli::make_command<bench::PipelineOptions, bench::PipelineResult>(
      {.name = "pipeline",
       .summary = "run all stages together with an emulated training step",
       .description =
           "Reads shards or image files, decodes random crops, flips and normalizes them, fills batches and passes "
           "them to training steps that take --step-time each. This is what a training job does with its input, "
           "without the training. Reports samples per second, how long steps waited, and accelerator utilization by "
           "the MLPerf Storage rule. For each stage, reports the share of time that its threads were busy, starved "
           "and blocked.\n\nIf a GPU is available, batches are copied to it during the steps, and decoded there "
           "on request. Each GPU is checked first. --ladder compares several loaders, from a naive one "
           "to one in which all stages overlap.\n\nThe overhead of iobench itself is measured first and reported. "
           "Images that cannot be decoded are counted and left out.",
       .examples = {{"iobench pipeline shards/train --batch 256 --step-time 200ms", "does one GPU ever wait?"},
                    {"iobench pipeline shards --preset resnet50-h100 --gpus 8 --prefetch 0,1,2,4",
                     "eight GPUs, and how many batches ahead they need"},
                    {"iobench pipeline photos --cache cold --epochs 3 --trace trace.json",
                     "first epoch from disk, two from memory, with a trace of every thread"},
                    {"iobench pipeline shards --batch 256 --step spin --step-time 100ms --ladder",
                     "how much pinned memory, GPU kernels and nvJPEG gain, one after the other"}},
       .main = {"preset", "gpus", "batch", "step-time", "epochs", "prefetch", "workers", "cache", "backend", "ladder",
                "budget", "trace"},
       .prometheus = true,
       .labels = true},
      bench::pipeline, answer_pipeline);
}

}  // namespace shardkit::apps
