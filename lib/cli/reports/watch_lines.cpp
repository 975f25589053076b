#include "cli/reports/watch_lines.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/field_tree.hpp"
#include "cli/output_files.hpp"
#include "core/bytes.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kLinesPerHeading = 20;

using Number = std::optional<double>;

std::string percent(const Number& share) { return share ? fmt::format("{:.0f} %", *share * 100) : "-"; }
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
  for (const GpuRow& gpu : row.gpus) {
    if (const Number use = link_use(gpu)) most = std::max(most.value_or(0), *use);
  }
  return most;
}

struct Column {
  const char* title;
  std::size_t width;
  std::string (*text)(const WatchRow&);
};

/// "10:15:02" of "2026-01-31T10:15:02Z"
std::string time_of_day(const WatchRow& row) { return row.time.size() < 19 ? row.time : row.time.substr(11, 8); }

/// Where threads are: at work, waiting for a core, waiting for storage.
void add_thread_columns(const WatchRow& shape, std::vector<Column>& columns) {
  if (shape.job) {
    columns.push_back({"cores", 7, [](const WatchRow& row) { return plain(row.job ? row.job->cores : Number(), 1); }});
    columns.push_back(
        {"queued", 8, [](const WatchRow& row) { return plain(row.job ? row.job->queued_threads : Number(), 1); }});
  }
  columns.push_back({"blocked", 9, [](const WatchRow& row) { return plain(blocked(row), 0); }});
}

void add_node_columns(const WatchRow& shape, std::vector<Column>& columns) {
  columns.push_back({"node", 7, [](const WatchRow& row) { return percent(row.node.cpu_busy); }});
  if (shape.group.cpu_limit) {
    columns.push_back({"limit", 7, [](const WatchRow& row) { return percent(row.group.throttled); }});
  }
  if (!felt_pressure(shape).io) return;
  columns.push_back({"cpu", 7, [](const WatchRow& row) { return percent(felt_pressure(row).cpu); }});
  columns.push_back({"io", 7, [](const WatchRow& row) { return percent(felt_pressure(row).io); }});
  columns.push_back({"mem", 7, [](const WatchRow& row) { return percent(felt_pressure(row).memory); }});
}

void add_data_columns(const WatchRow& shape, std::vector<Column>& columns) {
  if (shape.disk) {
    columns.push_back(
        {"read", 11, [](const WatchRow& row) { return rate(row.disk ? row.disk->read_bytes : Number()); }});
    columns.push_back({"wait", 9, [](const WatchRow& row) { return time(row.disk ? row.disk->read_wait : Number()); }});
    columns.push_back({"busy", 7, [](const WatchRow& row) { return percent(row.disk ? row.disk->busy : Number()); }});
  }
  if (shape.nfs) {
    columns.push_back({"nfs", 11, [](const WatchRow& row) { return rate(row.nfs ? row.nfs->read_bytes : Number()); }});
    columns.push_back({"rtt", 9, [](const WatchRow& row) { return time(row.nfs ? row.nfs->round_trip : Number()); }});
    columns.push_back(
        {"again", 8, [](const WatchRow& row) { return plain(row.nfs ? row.nfs->retransmissions : Number(), 1); }});
  }
  if (shape.cached) columns.push_back({"cached", 8, [](const WatchRow& row) { return percent(row.cached); }});
}

std::vector<Column> columns_for(const WatchRow& shape) {
  std::vector<Column> columns{{"UTC", 8, time_of_day}};
  add_thread_columns(shape, columns);
  add_node_columns(shape, columns);
  add_data_columns(shape, columns);
  columns.push_back({"available", 11, [](const WatchRow& row) { return size(row.node.memory_available); }});
  if (shape.node.dev_shm_size)
    columns.push_back({"shm", 6, [](const WatchRow& row) { return percent(shm_used(row)); }});
  if (!shape.gpus.empty()) {
    columns.push_back({"gpus", 7, [](const WatchRow& row) { return percent(mean_gpu_busy(row)); }});
    columns.push_back({"link", 7, [](const WatchRow& row) { return percent(most_link_use(row)); }});
  }
  return columns;
}

/// Writes lines of either form; knows which row's columns stand at the top.
class LineWriter {
 public:
  LineWriter(WatchLines form, ByteSink& output) : form_(form), output_(output) {}

  void write(WatchRow row) {
    if (form_ == WatchLines::none) return;
    if (form_ == WatchLines::json) {
      return put(json_line("interval", field_tree([&](FieldVisitor& v) { row.describe(v); })));
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

  const WatchLines form_;
  ByteSink& output_;
  WatchRow shape_;
  std::uint64_t lines_ = 0;
};

}  // namespace

std::string watch_heading(const WatchRow& row) {
  std::string text;
  for (const Column& column : columns_for(row)) text += fmt::format("{:>{}}", column.title, column.width);
  return text + "  short of\n";
}

std::string watch_line(const WatchRow& row, const WatchRow& shape) {
  std::string text;
  for (const Column& column : columns_for(shape)) text += fmt::format("{:>{}}", column.text(row), column.width);
  const auto short_of = EnumNames<Shortage>::names[static_cast<std::size_t>(row.short_of)];
  return fmt::format("{}  {}\n", text, row.short_of == Shortage::nothing ? "-" : short_of);
}

WatchResult watch_to_output(const WatchOptions& options, Context& context) {
  ByteSink* const output = context.output();
  if (output == nullptr) return watch(options, context, [](const WatchRow&) { return true; });
  LineWriter lines(options.lines, *output);
  return watch(options, context, [&](const WatchRow& row) {
    try {
      lines.write(row);
      return true;
    } catch (const OutputClosed&) {  // what was seen until then is still a result, for the files that were asked for
      return false;
    }
  });
}

}  // namespace shardkit
