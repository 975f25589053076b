#include "bench/run/run.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "cli/text_report.hpp"
#include "core/units.hpp"
#include "iobench/cells.hpp"
#include "iobench/loader_text.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

/// For a job that is far too small for the node the value itself is not useful.
std::string headroom_text(const std::optional<double>& ratio) {
  constexpr double kMost = 1000;
  if (!ratio) return "-";
  return *ratio > kMost ? "> 1000 x" : fmt::format("{:.2f} x", *ratio);
}

/// Green if it is enough, red if not; colors count no columns.
std::string headroom_cell(const std::optional<double>& ratio) {
  const std::string text = fmt::format("{:>10}", headroom_text(ratio));
  return ratio ? cli::painted(text, *ratio < 1 ? Tone::bad : Tone::good) : text;
}

/// Without a job, what is needed and the headroom are left out. What more reads deliver matters where storage is the
/// bottleneck.
void stage_table(const bench::RunResult& result, std::string& out) {
  auto to = std::back_inserter(out);
  const bool has_job = result.summary.requirement.has_value();
  const char* available = result.repetitions.empty() ? "available" : "median";
  fmt::format_to(to, "{:<10}{}{:>10}{}\n", "stage", has_job ? fmt::format("{:>9}", "needed") : "", available,
                 has_job ? fmt::format("{:>10}", "headroom") : "");
  for (const bench::StageTableRow& row : result.summary.stage_table) {
    if (row.stage == bench::stage::kMoreReads && result.summary.verdict.limiting_stage != bench::stage::kRead) continue;
    const std::string needed = has_job ? fmt::format("{:>9}", per_second_cell(row.required_per_second)) : "";
    const std::string headroom = has_job ? headroom_cell(row.headroom_ratio) : "";
    fmt::format_to(to, "{:<10}{}{:>10}{}  {}\n", row.stage, needed, per_second_cell(row.measured_per_second), headroom,
                   row.note);
  }
}

/// Those whose samples are like the data: JPEGs, or not. Each is judged at its own size of a sample.
void presets(const bench::RunResult& result, std::string& out) {
  auto to = std::back_inserter(out);
  const auto& rows = result.summary.presets;
  if (!rows.empty()) fmt::format_to(to, "\n{:<18}{:>9}{:>10}{:>9}\n", "preset", "GPUs fed", "samples/s", "of");
  for (const bench::PresetRow& row : rows) {
    const bench::Preset& preset = bench::find_preset(row.name);
    if (preset.jpeg != result.decode.has_value()) continue;
    fmt::format_to(to, "{:<18}{:>9}{:>10}{:>9}  {}\n", row.name, row.gpus_fed.value_or(0),
                   per_second_cell(row.samples_per_second),
                   format_rounded_size(static_cast<std::uint64_t>(preset.sample_bytes)), row.edition);
  }
}

/// A job that is fed needs no advice. Where others disturbed the measurement, the first line says so.
std::vector<std::string> hints_of(const bench::RunResult& result) {
  std::vector<std::string> hints = result.read.hints;
  const bench::RunSummary& summary = result.summary;
  const bool is_fed = summary.requirement && summary.verdict.ok.value_or(true);
  const bool is_decoded = std::ranges::find(summary.stage_table, bench::stage::kDecode, &bench::StageTableRow::stage) !=
                          summary.stage_table.end();
  if (result.pipeline && is_decoded && !is_fed && !result.neighbors.disturb()) {
    hints.insert(hints.begin(), result.pipeline->advice.begin(), result.pipeline->advice.end());
  }
  return hints;
}

std::size_t lines_of(const std::string& sentence) { return cli::wrap(sentence, cli::kReportColumns).size(); }

std::size_t rows_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(cli::broken_at_blanks(text, cli::kReportColumns), '\n'));
}

/// The rows of all but the loader and the hints: with the line to repeat it, that about the node, and the prompt.
std::size_t rows_of_others(const cli::Answer& answer) {
  constexpr std::size_t kLast = 3;
  std::size_t rows = kLast + rows_of(answer.body) + lines_of(answer.headline + " (1.00 s)");
  for (const std::string& remark : answer.remarks) rows += lines_of(remark);
  return rows;
}

/// The code for a job if `most` rows have space for it and what must be said of the shards; otherwise a line.
void add_loader(const bench::RunResult& result, std::size_t most, cli::Answer& answer) {
  const bool is_disturbed = result.neighbors.disturb();
  const std::string must = reshard_hint(result.summary.loader);
  const std::string code = '\n' + loader_text(result.summary.loader, true, is_disturbed);
  const std::size_t rows = rows_of_others(answer) + rows_of(code) + (must.empty() ? 1 : lines_of("hint: " + must) + 1);
  if (result.summary.requirement && rows <= most) {
    answer.code = code;
  } else {
    answer.body += '\n' + short_loader_text(result.summary.loader, is_disturbed);
  }
  if (!must.empty()) answer.hints.push_back(must);
}

/// As many hints as `most` rows have space for, at most three; --verbose shows all.
void add_hints(const bench::RunResult& result, std::size_t most, cli::Answer& answer) {
  constexpr std::size_t kMostHints = 3;
  const std::vector<std::string> hints = hints_of(result);
  std::size_t rows = rows_of_others(answer) + rows_of(answer.code) + 1;  // that which counts the others
  for (const std::string& hint : answer.hints) rows += lines_of("hint: " + hint);
  std::size_t shown = 0;
  for (; shown < std::min(hints.size(), kMostHints); ++shown) {
    rows += lines_of("hint: " + hints[shown]);
    if (rows > most) break;
    answer.hints.push_back(hints[shown]);
  }
  if (shown < hints.size()) {
    answer.end = fmt::format("{} more with --verbose\n", format_count(hints.size() - shown, "hint"));
  }
}

}  // namespace

cli::Answer answer_run(const bench::RunResult& result, std::size_t rows) {
  const bench::RunSummary& summary = result.summary;
  cli::Answer answer{.headline = summary.verdict.text};
  if (summary.stage_table.empty()) {  // interrupted before the end of all stages
    answer.next = {result.command};
    return answer;
  }
  if (!summary.verdict.remedy.empty()) answer.remarks.push_back(summary.verdict.remedy);
  answer.remarks.insert(answer.remarks.end(), summary.verdict.notes.begin(), summary.verdict.notes.end());
  std::string& out = answer.body;
  out += '\n';
  stage_table(result, out);
  out += repeated_text(result.repeated, result.repetitions.size());
  if (result.repetitions.size() > 1)
    out += "hints, and each stage in the JSON, come from the repetition with its median rate\n";
  presets(result, out);
  add_loader(result, rows, answer);
  add_hints(result, rows, answer);
  answer.end += fmt::format("same again: {}\n", cli::printable(result.command));
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
                      "measurement, or if only the loader misses it, by at most 10 %.\n\nWithout a job, reports how "
                      "many GPUs of each published workload "
                      "the node can feed. Writes nothing.",
       .examples = {{"iobench run shards/train", "how many GPUs can this node feed?"},
                    {"iobench run shards/train --preset resnet50-h100 --gpus 8", "is it fast enough for these eight?"},
                    {"iobench run shards --gpus 8 --batch 256 --step-time 200ms --json run.json",
                     "your own job, with the result as JSON"}},
       .main = {"preset", "gpus", "batch", "step-time", "threads", "workers", "python", "cache", "budget", "repeat"},
       .prometheus = true,
       .schema_version = 3,
       .labels = true,
       .about_node = true,
       .doubts = true},
      bench::run, [](const bench::RunResult& result) { return answer_run(result, cli::rows_of(STDOUT_FILENO)); });
}

}  // namespace shardkit::apps
