#include "cli/reports/cache_report.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cli/field_text.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

std::string in_memory(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.0f} % in memory", *ratio * 100) : "";
}

std::string state_text(StagedState state) {
  return state == StagedState::in_progress
             ? "in progress"
             : std::string(EnumNames<StagedState>::names[static_cast<std::size_t>(state)]);
}

std::string lease_text(const CacheLsLease& lease) {
  if (!lease.fault.empty()) return printable(lease.fault);
  const std::string purpose = lease.purpose.empty() ? "" : fmt::format(" ({})", printable(lease.purpose));
  return fmt::format("{} by {}{} {} {}", lease.live ? "leased" : "was leased", printable(lease.owner), purpose, "until",
                     lease.expires_at);
}

void add_folder(const CacheLsFolder& folder, std::size_t width, bool colour, std::string& out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{}  {:<11}  {:>12}  {:>9}  used {}",
                 bold(fmt::format("{:<{}}", printable(folder.path), width), colour), state_text(folder.state),
                 format_count(folder.files, "file"), format_size(folder.bytes), folder.last_used);
  if (folder.resident_ratio) fmt::format_to(to, "  {}", in_memory(folder.resident_ratio));
  out += '\n';
  if (!folder.source.empty()) fmt::format_to(to, "  from {}\n", printable(folder.source));
  if (!folder.fault.empty()) fmt::format_to(to, "  {}\n", printable(folder.fault));
  if (folder.partial_bytes > 0)
    fmt::format_to(to, "  {} in files that are not whole\n", format_size(folder.partial_bytes));
  for (const CacheLsLease& lease : folder.leases) fmt::format_to(to, "  {}\n", lease_text(lease));
  for (const CacheLsFile& file : folder.contents) {
    fmt::format_to(to, "  {:>10}  {:>14}  {}\n", format_size(file.bytes), in_memory(file.resident_ratio),
                   printable(file.name));
  }
}

}  // namespace

std::string render_cache_ls(const CacheLsResult& result, bool colour) {
  std::size_t width = 0;
  for (const CacheLsFolder& folder : result.folders) width = std::max(width, printable(folder.path).size());
  std::string out;
  for (const CacheLsFolder& folder : result.folders) add_folder(folder, width, colour, out);
  out += fmt::format("{}, {}, {}", format_count(result.folders.size(), "staged folder"),
                     format_count(result.files, "file"), format_size(result.bytes + result.partial_bytes));
  if (result.leased_bytes > 0) out += fmt::format(", {} of it leased", format_size(result.leased_bytes));
  if (result.resident_ratio) out += ", " + in_memory(result.resident_ratio);
  return out + "\n";
}

}  // namespace shardkit
