#include "bench/watch/shortage.hpp"
#include "bench/watch/watch.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/app.hpp"
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
constexpr std::size_t kBottleneckWidth = 10;

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

/// Columns for a terminal: those that matter less are left out if there is no space for them.
class Columns {
 public:
  explicit Columns(std::size_t most) : most_(most) {}

  Columns& add(const Column& column) {
    if (width_ + column.width >= most_) return *this;
    width_ += column.width;
    columns_.push_back(column);
    return *this;
  }
  Columns& add_if(bool is_known, const Column& column) { return is_known ? add(column) : *this; }
  const std::vector<Column>& all() const { return columns_; }

 private:
  const std::size_t most_;
  std::size_t width_ = kBottleneckWidth;  // the first one
  std::vector<Column> columns_;
};

/// "10:15:02" of "2026-01-31T10:15:02Z"
std::string time_of_day(const WatchRow& row) { return row.time.size() < 19 ? row.time : row.time.substr(11, 8); }

/// Work, and waiting for it.
void add_work(const WatchRow& shape, Columns& columns) {
  columns.add({"UTC", 10, time_of_day})
      .add_if(!shape.gpus.empty(),
              {"GPUs", 7, [](const WatchRow& row) { return percent_cell(bench::mean_gpu_busy(row)); }})
      .add({"CPU", 7, [](const WatchRow& row) { return percent_cell(row.node.cpu_busy); }})
      .add_if(shape.job.has_value(),
              {"cores", 7, [](const WatchRow& row) { return plain(figure(row.job, &bench::JobRow::cores), 1); }})
      .add_if(shape.group.cpu_limit.has_value(),
              {"throttled", 11, [](const WatchRow& row) { return percent_cell(row.group.throttled); }})
      .add({"blocked", 9, [](const WatchRow& row) { return plain(blocked(row), 0); }});
}

void add_data(const WatchRow& shape, Columns& columns) {
  columns
      .add_if(shape.disk.has_value(),
              {"read", 11, [](const WatchRow& row) { return rate(figure(row.disk, &bench::DiskRow::read_bytes)); }})
      .add_if(shape.disk.has_value(),
              {"latency", 9, [](const WatchRow& row) { return time(figure(row.disk, &bench::DiskRow::read_wait)); }})
      .add_if(shape.nfs.has_value(),
              {"nfs", 11, [](const WatchRow& row) { return rate(figure(row.nfs, &bench::NfsRow::read_bytes)); }})
      .add_if(shape.nfs.has_value(),
              {"rtt", 9, [](const WatchRow& row) { return time(figure(row.nfs, &bench::NfsRow::round_trip)); }});
}

void add_waits(const WatchRow& shape, Columns& columns) {
  const bool has_pressure = bench::felt_pressure(shape).io.has_value();
  columns
      .add_if(has_pressure,
              {"wait:io", 9, [](const WatchRow& row) { return percent_cell(bench::felt_pressure(row).io); }})
      .add_if(
          shape.job.has_value(),
          {"queued", 8, [](const WatchRow& row) { return plain(figure(row.job, &bench::JobRow::queued_threads), 1); }})
      .add_if(has_pressure,
              {"wait:cpu", 10, [](const WatchRow& row) { return percent_cell(bench::felt_pressure(row).cpu); }})
      .add_if(has_pressure,
              {"wait:mem", 10, [](const WatchRow& row) { return percent_cell(bench::felt_pressure(row).memory); }});
}

void add_others(const WatchRow& shape, Columns& columns) {
  columns.add_if(!shape.gpus.empty(), {"PCIe", 7, [](const WatchRow& row) { return percent_cell(most_link_use(row)); }})
      .add_if(shape.cached.has_value(), {"cached", 8, [](const WatchRow& row) { return percent_cell(row.cached); }})
      .add_if(shape.node.dev_shm_size.has_value(),
              {"/dev/shm", 10, [](const WatchRow& row) { return percent_cell(shm_used(row)); }})
      .add_if(shape.disk.has_value(),
              {"busy", 7, [](const WatchRow& row) { return percent_cell(figure(row.disk, &bench::DiskRow::busy)); }})
      .add_if(shape.nfs.has_value(),
              {"retrans", 9,
               [](const WatchRow& row) { return plain(figure(row.nfs, &bench::NfsRow::retransmissions), 1); }})
      .add({"available", 11, [](const WatchRow& row) { return size(row.node.memory_available); }});
}

/// The most telling ones first.
std::vector<Column> columns_for(const WatchRow& shape, std::size_t width) {
  Columns columns(width);
  add_work(shape, columns);
  add_data(shape, columns);
  add_waits(shape, columns);
  add_others(shape, columns);
  return columns.all();
}

/// Of standard output, for which lines are made that a wide terminal leaves as they are.
std::size_t width() { return std::min(cli::kReportColumns, cli::columns_of(STDOUT_FILENO)); }

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
      put(watch_heading(shape_, width()));
    }
    ++lines_;
    put(watch_line(row, shape_, width()));
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

/// A sentence on as many lines as a terminal needs, indented by the columns of `begin`.
void add_folded(std::string_view begin, const std::string& sentence, std::string& out) {
  const std::string indent(begin.size(), ' ');
  for (const std::string& line : cli::wrap(cli::printable(sentence), width() - std::min(begin.size(), width()))) {
    fmt::format_to(std::back_inserter(out), "{}{}\n", begin, line);
    begin = indent;
  }
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
  if (result.is_summary) cli::line(out, "since", result.began);
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
  for (const bench::MachineFinding& finding : result.findings) {
    add_folded(fmt::format("{}: ", enum_name(finding.severity)), finding.text, out);
    add_folded("  do      ", finding.advice, out);
  }
}

}  // namespace

std::string watch_heading(const WatchRow& row, std::size_t width) {
  std::string text = fmt::format("{:<{}}", "bottleneck", kBottleneckWidth);
  for (const Column& column : columns_for(row, width)) text += fmt::format("{:>{}}", column.title, column.width);
  return text + "\n";
}

std::string watch_line(const WatchRow& row, const WatchRow& shape, std::size_t width) {
  const std::string_view word = row.short_of == bench::Shortage::nothing ? "-" : shortage_word(row.short_of);
  std::string text = fmt::format("{:<{}}", word, kBottleneckWidth);
  for (const Column& column : columns_for(shape, width)) text += fmt::format("{:>{}}", column.text(row), column.width);
  return text + "\n";
}

bench::WatchResult watch_to_output(const bench::WatchOptions& options, Context& context) {
  ByteSink* const output = context.output();
  if (output == nullptr) return bench::watch(options, context, [](const WatchRow&) { return true; });
  LineWriter lines(bench::with_summary(options).lines, *output);
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
  if (!result.verdict.remedy.empty()) answer.remarks.push_back(result.verdict.remedy);
  std::string& out = answer.body;
  out += "\n";
  for (const std::string& evidence : result.verdict.evidence) add_folded("  ", evidence, out);
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
           "--pid, watches that process, its descendants and its control group, otherwise the whole node. Without "
           "PATH, "
           "the data is found by the files that the process has open. Lines begin with the bottleneck and fit 80 "
           "columns: --lines json has all values. "
           "Continues until Ctrl-C, SIGTERM, --budget, --count or the end of the process. Then reports "
           "what was the bottleneck, for which share of the time, the figures behind it, and what to "
           "do.\n\nOnly reads kernel and driver counters: runs no benchmark, writes nothing and never reads "
           "the data. Values that are not visible to this user are left out. Stopping it is normal: exit code 0. "
           "--prometheus writes the summary at the end.",
       .examples = {{"iobench watch /data/train --pid 4711", "what limits this job?"},
                    {"iobench watch /data/train --budget 60s --summary",
                     "one minute of the whole node, only the verdict"},
                    {"iobench watch --pid 4711 --summary", "30 s of a job, as text for a ticket"},
                    {"iobench watch --pid 4711 --lines json >> job.jsonl", "one JSON object per interval"},
                    {"iobench watch /data --budget 50s --prometheus /var/lib/metrics/watch.prom",
                     "metrics of the last minute, from a timer"}},
       .prometheus = true,
       .labels = true,
       .live = true},
      watch_to_output, answer_watch);
}

}  // namespace shardkit::apps
