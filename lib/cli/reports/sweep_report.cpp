#include "cli/reports/sweep_report.hpp"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "cli/fields/field_text.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

std::string value_text(const SweepRow& row) {
  return row.parameter == "block" ? format_size(row.value) : format_count(row.value);
}

std::string rate_text(const SweepRow& row, const std::optional<double>& rate) {
  if (!rate) return "-";
  if (row.bytes_per_second) return format_rate(*rate);
  return format_count(static_cast<std::uint64_t>(std::llround(*rate))) + "/s";
}

}  // namespace

std::string render_sweep(const SweepResult& result, bool colour) {
  std::string out = bold(result.text, colour) + "\n";
  auto to = std::back_inserter(out);
  for (const std::string& command : result.commands) fmt::format_to(to, "  {}\n", printable(command));
  std::string parameter;
  for (const SweepRow& row : result.rows) {
    if (row.parameter != parameter) {
      parameter = row.parameter;
      fmt::format_to(to, "\n{:<12}{:>14}{:>14}{:>14}\n", parameter, "rate", "from", "to");
    }
    fmt::format_to(to, "{:<12}{:>14}{:>14}{:>14}{}\n", value_text(row),
                   rate_text(row, row.bytes_per_second ? row.bytes_per_second : row.samples_per_second),
                   rate_text(row, row.low), rate_text(row, row.high), row.knee ? "  <- knee" : "");
  }
  fmt::format_to(to, "\n{} for each point; from and to are the 95 % interval over slices of 0.1 s\n",
                 format_duration(result.point_seconds));
  return out;
}

}  // namespace shardkit
