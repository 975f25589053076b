#include "bench/watch/watch.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "cli/output_files.hpp"
#include "cli/report_formats.hpp"
#include "cli/text_report.hpp"
#include "core/bytes.hpp"
#include "core/field_tree.hpp"
#include "core/units.hpp"
#include "iobench/cells.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

constexpr std::uint64_t kLinesPerHeading = 20;

/// The bottlenecks in the words of the verdict, by Shortage; JSON has their names.
constexpr std::array<std::string_view, kEnumNames<bench::Shortage>.size()> kShortageWords{
    "none", "compute", "CPU limit", "memory", "CPU", "PCIe link", "storage", "/dev/shm"};

std::string_view shortage_word(bench::Shortage shortage) { return kShortageWords[static_cast<std::size_t>(shortage)]; }

using Number = std::optional<double>;
using bench::WatchRow;

std::string rate(const Number& bytes_per_second) { return bytes_per_second ? format_rate(*bytes_per_second) : "-"; }
std::string time(const Number& seconds) { return seconds ? format_duration(*seconds) : "-"; }
std::string plain(const Number& value, int digits) { return value ? fmt::format("{:.{}f}", *value, digits) : "-"; }
std::string size(const std::optional<std::uint64_t>& bytes) { return bytes ? format_size(*bytes) : "-"; }

Number shm_used(const WatchRow& row) {
  if (!row.node.dev_shm_free || row.node.dev_shm_size.value_or(0) == 0) return std::nullopt;
  return 1 - static_cast<double>(*row.node.dev_shm_free) / static_cast<double>(*row.node.dev_shm_size);
}

Number blocked(const WatchRow& row) {
  return row.job ? Number(static_cast<double>(row.job->blocked_threads)) : row.node.blocked_tasks;
}

Number most_link_use(const WatchRow& row) {
  Number most;
  for (const bench::GpuRow& gpu : row.gpus) {
    if (const Number use = bench::link_use(gpu)) most = std::max(most.value_or(0), *use);
  }
  return most;
}

/// A value of a part of the row; empty if the part is missing.
template <class Part>
Number figure(const std::optional<Part>& part, Number Part::*member) {
  return part ? (*part).*member : Number();
}

struct Column {
  const char* title;
  std::size_t width;
  std::string (*text)(const WatchRow&);
};

/// "10:15:02" of "2026-01-31T10:15:02Z"
std::string time_of_day(const WatchRow& row) { return row.time.size() < 19 ? row.time : row.time.substr(11, 8); }

/// The states of threads: working, waiting for a core, waiting for storage.
void add_thread_columns(const WatchRow& shape, std::vector<Column>& columns) {
  if (shape.job) {
    columns.push_back(
        {"cores", 7, [](const WatchRow& row) { return plain(figure(row.job, &bench::JobRow::cores), 1); }});
    columns.push_back(
        {"queued", 8, [](const WatchRow& row) { return plain(figure(row.job, &bench::JobRow::queued_threads), 1); }});
  }
  columns.push_back({"blocked", 9, [](const WatchRow& row) { return plain(blocked(row), 0); }});
}

void add_node_columns(const WatchRow& shape, std::vector<Column>& columns) {
  columns.push_back({"CPU", 7, [](const WatchRow& row) { return percent_cell(row.node.cpu_busy); }});
  if (shape.group.cpu_limit) {
    columns.push_back({"throttled", 11, [](const WatchRow& row) { return percent_cell(row.group.throttled); }});
  }
  if (!bench::felt_pressure(shape).io) return;
  columns.push_back({"wait:cpu", 10, [](const WatchRow& row) { return percent_cell(bench::felt_pressure(row).cpu); }});
  columns.push_back({"wait:io", 9, [](const WatchRow& row) { return percent_cell(bench::felt_pressure(row).io); }});
  columns.push_back(
      {"wait:mem", 10, [](const WatchRow& row) { return percent_cell(bench::felt_pressure(row).memory); }});
}

void add_data_columns(const WatchRow& shape, std::vector<Column>& columns) {
  if (shape.disk) {
    columns.push_back(
        {"read", 11, [](const WatchRow& row) { return rate(figure(row.disk, &bench::DiskRow::read_bytes)); }});
    columns.push_back(
        {"latency", 9, [](const WatchRow& row) { return time(figure(row.disk, &bench::DiskRow::read_wait)); }});
    columns.push_back(
        {"busy", 7, [](const WatchRow& row) { return percent_cell(figure(row.disk, &bench::DiskRow::busy)); }});
  }
  if (shape.nfs) {
    columns.push_back(
        {"nfs", 11, [](const WatchRow& row) { return rate(figure(row.nfs, &bench::NfsRow::read_bytes)); }});
    columns.push_back(
        {"rtt", 9, [](const WatchRow& row) { return time(figure(row.nfs, &bench::NfsRow::round_trip)); }});
    columns.push_back(
        {"retrans", 9, [](const WatchRow& row) { return plain(figure(row.nfs, &bench::NfsRow::retransmissions), 1); }});
  }
  if (shape.cached) columns.push_back({"cached", 8, [](const WatchRow& row) { return percent_cell(row.cached); }});
}

std::vector<Column> columns_for(const WatchRow& shape) {
  std::vector<Column> columns{{"UTC", 8, time_of_day}};
  add_thread_columns(shape, columns);
  add_node_columns(shape, columns);
  add_data_columns(shape, columns);
  columns.push_back({"available", 11, [](const WatchRow& row) { return size(row.node.memory_available); }});
  if (shape.node.dev_shm_size)
    columns.push_back({"/dev/shm", 10, [](const WatchRow& row) { return percent_cell(shm_used(row)); }});
  if (!shape.gpus.empty()) {
    columns.push_back({"GPUs", 7, [](const WatchRow& row) { return percent_cell(bench::mean_gpu_busy(row)); }});
    columns.push_back({"PCIe", 7, [](const WatchRow& row) { return percent_cell(most_link_use(row)); }});
  }
  return columns;
}

/// Writes lines of either form; remembers the row whose columns are in the heading.
class LineWriter {
 public:
  LineWriter(bench::WatchLines form, ByteSink& output) : form_(form), output_(output) {}

  void write(WatchRow row) {
    if (form_ == bench::WatchLines::none) return;
    if (form_ == bench::WatchLines::json) {
      return put(cli::json_line("interval", shardkit::field_tree([&](FieldList& v) { row.describe(v); })));
    }
    if (lines_ % kLinesPerHeading == 0) {
      shape_ = row;
      put(watch_heading(shape_));
    }
    ++lines_;
    put(watch_line(row, shape_));
  }

 private:
  void put(const std::string& text) { output_.write(as_bytes(text)); }

  const bench::WatchLines form_;
  ByteSink& output_;
  WatchRow shape_;
  std::uint64_t lines_ = 0;
};

std::string verdict_line(bench::WatchResult result) {
  return cli::json_line("verdict", shardkit::field_tree([&](FieldList& v) { result.describe_end(v); }));
}

void verdict(const bench::WatchResult& result, std::string& out) {
  if (!result.verdict.remedy.empty()) out += cli::printable(result.verdict.remedy) + "\n";
  out += "\n";
  for (const std::string& evidence : result.verdict.evidence) out += "  " + cli::printable(evidence) + "\n";
}

std::string subject(const bench::WatchResult& result) {
  cli::Facts facts;
  if (result.pid) facts.add(fmt::format("process {} ({})", *result.pid, result.command));
  if (!result.pid) facts.add("the whole node");
  facts.add(result.path);
  return facts.text();
}

std::string end_text(bench::WatchEnd end) {
  switch (end) {
    case bench::WatchEnd::stopped:
      return "stopped";
    case bench::WatchEnd::process:
      return "the process has ended";
    case bench::WatchEnd::duration:
    case bench::WatchEnd::count:
      break;
  }
  return {};
}

/// "storage 83 %, none 17 %"; empty if the verdict has named the only one.
std::string shares(const bench::WatchSummary& summary) {
  cli::Facts facts;
  if (std::ranges::count_if(summary.short_seconds, [](double seconds) { return seconds > 0; }) < 2) return {};
  for (std::size_t i = 0; i < kEnumNames<bench::Shortage>.size(); ++i) {
    const auto shortage = static_cast<bench::Shortage>(i);
    const double share = summary.share(shortage);
    if (share > 0) facts.add(fmt::format("{} {:.0f} %", shortage_word(shortage), share * 100));
  }
  return facts.text();
}

void about(const bench::WatchResult& result, std::string& out) {
  cli::line(out, "watched", subject(result));
  cli::line(out, "time",
            cli::Facts()
                .add(fmt::format("{} in {}", format_duration(result.summary.seconds),
                                 format_count(result.summary.intervals, "interval")))
                .add(end_text(result.ended))
                .text());
  cli::line(out, "limits", shares(result.summary));
  if (result.files > 0)
    cli::line(out, "cached", fmt::format("sampled from {} of the data", format_count(result.files, "file")));
  if (result.gpus_missing) cli::line(out, "gpus", fmt::format("none visible ({})", *result.gpus_missing));
}

void findings(const bench::WatchResult& result, std::string& out) {
  for (const bench::Finding& finding : result.findings) {
    fmt::format_to(std::back_inserter(out), "{}: {}\n  do      {}\n", enum_name(finding.severity),
                   cli::printable(finding.text), cli::printable(finding.remedy));
  }
}

}  // namespace

std::string watch_heading(const WatchRow& row) {
  std::string text;
  for (const Column& column : columns_for(row)) text += fmt::format("{:>{}}", column.title, column.width);
  return text + "  bottleneck\n";
}

std::string watch_line(const WatchRow& row, const WatchRow& shape) {
  std::string text;
  for (const Column& column : columns_for(shape)) text += fmt::format("{:>{}}", column.text(row), column.width);
  return fmt::format("{}  {}\n", text, row.short_of == bench::Shortage::nothing ? "-" : shortage_word(row.short_of));
}

bench::WatchResult watch_to_output(const bench::WatchOptions& options, Context& context) {
  ByteSink* const output = context.output();
  if (output == nullptr) return bench::watch(options, context, [](const WatchRow&) { return true; });
  LineWriter lines(options.lines, *output);
  return bench::watch(options, context, [&](const WatchRow& row) {
    try {
      lines.write(row);
      return true;
    } catch (const cli::OutputClosed&) {  // everything seen until then is still a result, for the requested files
      return false;
    }
  });
}

cli::Answer answer_watch(const bench::WatchResult& result) {
  if (result.lines == bench::WatchLines::json) return {.headline = {}, .body = verdict_line(result)};
  cli::Answer answer{.headline = result.verdict.text,
                     .apart = result.lines == bench::WatchLines::text && result.summary.intervals > 0};
  std::string& out = answer.body;
  verdict(result, out);
  if (!result.findings.empty()) out += "\n";
  findings(result, out);
  out += "\n";
  about(result, out);
  return answer;
}

cli::Command watch_command() {
  return cli::make_command<bench::WatchOptions, bench::WatchResult>(
      {.name = "watch",
       .summary = "watch a running job, or the whole node, and name its bottleneck",
       .description =
           "Prints one line per interval: CPU use, throttling by the CPU limit, pressure (PSI) of CPU, "
           "storage and memory, the disk or NFS mount of PATH, /dev/shm, page cache, and GPUs (NVML). With "
           "--pid, watches that process, its descendants and its control group, otherwise the whole node. "
           "Continues until Ctrl-C, SIGTERM, --budget, --count or the end of the process. Then reports "
           "what was the bottleneck, for which share of the time, the figures behind it, and what to "
           "do.\n\nOnly reads kernel and driver counters: runs no benchmark, writes nothing and never reads "
           "the data. Values that are not visible to this user are left out. Stopping it is normal: exit code 0. "
           "--prometheus writes the summary at the end.",
       .examples = {{"iobench watch /data/train --pid 4711", "what limits this job?"},
                    {"iobench watch /data/train --budget 60s --lines none",
                     "one minute of the whole node, only the verdict"},
                    {"iobench watch --pid 4711 --lines json >> job.jsonl", "one JSON object per interval"},
                    {"iobench watch /data --budget 50s --prometheus /var/lib/metrics/watch.prom",
                     "metrics of the last minute, from a timer"}},
       .prometheus = true,
       .live = true},
      watch_to_output, answer_watch);
}

}  // namespace shardkit::apps
