#include "cli/reports/sweep_report.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cli/field_text.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

std::string value_text(const SweepRow& row) {
  return row.parameter == "block" ? format_size(row.value) : format_count(row.value);
}

std::string rate_text(const SweepRow& row, const std::optional<double>& rate) {
  if (!rate) return "-";
  if (row.bytes_per_second) return format_rate(*rate);
  return format_rounded_count(*rate) + "/s";
}

}  // namespace

std::string render_sweep(const SweepResult& result, bool colour) {
  std::string out = bold(result.text, colour) + "\n";
  auto to = std::back_inserter(out);
  for (const std::string& command : result.commands) fmt::format_to(to, "  {}\n", printable(command));
  const bool intervals = std::ranges::any_of(result.rows, [](const SweepRow& row) { return row.low.has_value(); });
  std::string parameter;
  for (const SweepRow& row : result.rows) {
    if (row.parameter != parameter) {
      parameter = row.parameter;
      fmt::format_to(to, "\n{:<12}{:>14}", parameter, "rate");
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
  return out;
}

}  // namespace shardkit
