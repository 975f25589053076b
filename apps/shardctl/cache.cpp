#include "dataset/cache/cache.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "core/units.hpp"
#include "shardctl/problems.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

std::string in_memory(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.0f} % in memory", *ratio * 100) : "";
}

std::string state_text(staging::StagedState state) {
  return state == staging::StagedState::in_progress ? "in progress" : std::string(enum_name(state));
}

std::string lease_text(const dataset::CacheLsLease& lease) {
  if (!lease.fault.empty()) return cli::printable(lease.fault);
  const std::string purpose = lease.purpose.empty() ? "" : fmt::format(" ({})", cli::printable(lease.purpose));
  return fmt::format("{} by {}{} {} {}", lease.live ? "leased" : "was leased", cli::printable(lease.owner), purpose,
                     "until", lease.expires_at);
}

void add_folder(const dataset::CacheLsFolder& folder, std::size_t width, bool colour, std::string& out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{}  {:<11}  {:>12}  {:>9}  used {}",
                 cli::bold(fmt::format("{:<{}}", cli::printable(folder.path), width), colour), state_text(folder.state),
                 format_count(folder.files, "file"), format_size(folder.bytes), folder.last_used);
  if (folder.resident_ratio) fmt::format_to(to, "  {}", in_memory(folder.resident_ratio));
  out += '\n';
  if (!folder.source.empty()) fmt::format_to(to, "  from {}\n", cli::printable(folder.source));
  if (!folder.fault.empty()) fmt::format_to(to, "  {}\n", cli::printable(folder.fault));
  if (folder.partial_bytes > 0)
    fmt::format_to(to, "  {} in files that are not whole\n", format_size(folder.partial_bytes));
  for (const dataset::CacheLsLease& lease : folder.leases) fmt::format_to(to, "  {}\n", lease_text(lease));
  for (const dataset::CacheLsFile& file : folder.contents) {
    fmt::format_to(to, "  {:>10}  {:>14}  {}\n", format_size(file.bytes), in_memory(file.resident_ratio),
                   cli::printable(file.name));
  }
}

/// A line for each staged folder, below it its leases and, where asked for, its files; last the totals.
std::string render_cache_ls(const dataset::CacheLsResult& result, bool colour) {
  std::size_t width = 0;
  for (const dataset::CacheLsFolder& folder : result.folders)
    width = std::max(width, cli::printable(folder.path).size());
  std::string out;
  for (const dataset::CacheLsFolder& folder : result.folders) add_folder(folder, width, colour, out);
  out += fmt::format("{}, {}, {}", format_count(result.folders.size(), "staged folder"),
                     format_count(result.files, "file"), format_size(result.bytes + result.partial_bytes));
  if (result.leased_bytes > 0) out += fmt::format(", {} of it leased", format_size(result.leased_bytes));
  if (result.resident_ratio) out += ", " + in_memory(result.resident_ratio);
  return out + "\n";
}

cli::CiReport cache_check_ci(const dataset::CacheCheckResult& result) {
  return problem_report(result.problems, result.problems_total);
}

}  // namespace

cli::Command cache_ls_command() {
  return cli::make_command<dataset::CacheLsOptions, dataset::CacheLsResult>(
      {.name = "cache ls",
       .summary = "list what a node cache holds: sets, leases, and how much of each is in memory",
       .description =
           "DIR is a folder of folders that `shardctl stage` fills, at most four deep, or one of them. Says of each "
           "where it came from, whether it is whole, when it was last used, who leases it until when, and which share "
           "of it lies in the page cache. Changes nothing; DIR may be mounted read-only.",
       .examples = {{"shardctl cache ls /nvme/cache", "a line for each set"},
                    {"shardctl cache ls /nvme/cache/train --files", "each file, too"},
                    {"shardctl cache ls /nvme/cache --json -", "for a script"}},
       .prometheus = true},
      dataset::cache_ls, render_cache_ls);
}

cli::Command cache_warm_command() {
  return cli::make_command<dataset::CacheWarmOptions, dataset::CacheWarmResult>(
      {.name = "cache warm",
       .summary = "read staged files into the page cache, so that the first epoch reads memory",
       .description =
           "Reads whole files, those of the set used last first, until all are in memory or the next does not fit in "
           "--memory. In a container the page cache counts against the memory limit of whoever read first. Changes "
           "nothing; DIR may be mounted read-only.",
       .examples = {{"shardctl cache warm /nvme/cache/train", "half of the memory at most"},
                    {"shardctl cache warm /nvme/cache --memory 400GiB", "as much as that"}}},
      dataset::cache_warm);
}

cli::Command cache_gc_command() {
  return cli::make_command<dataset::CacheGcOptions, dataset::CacheGcResult>(
      {.name = "cache gc",
       .summary = "evict sets from a node cache, those used least recently first, down to a limit",
       .description =
           "Removes leases that have ended, temporaries of the dead, and parts of files that nobody leases; with "
           "--limit then whole sets. Never a set that is leased, being staged, or of no known source, and never a file "
           "that no stage brought. Exit code 5 when the limit cannot be reached.",
       .examples = {{"shardctl cache gc /nvme/cache", "leftovers only"},
                    {"shardctl cache gc /nvme/cache --limit 2TB --dry-run", "what would go"},
                    {"shardctl cache gc /nvme/cache --limit 2TB", "in a nightly timer"}}},
      dataset::cache_gc);
}

cli::Command cache_check_command() {
  return cli::make_command<dataset::CacheCheckOptions, dataset::CacheCheckResult>(
      {.name = "cache check",
       .summary = "hold staged files against the checksums they were staged with",
       .description =
           "Every file that a stage brought has to be there with its size and, unless --quick, with the bytes it had. "
           "Missing or wrong files are errors, files that no stage brought warnings. The next `shardctl stage` brings "
           "what is missing or has a wrong size; wrong bytes have to be removed first, which --repair does.",
       .examples = {{"shardctl cache check /nvme/cache", "every byte of all sets"},
                    {"shardctl cache check /nvme/cache/train --quick", "names and sizes, in a moment"},
                    {"shardctl cache check /nvme/cache --repair", "and remove what is damaged"}}},
      dataset::cache_check, nullptr, cache_check_ci);
}

cli::Command cache_release_command() {
  return cli::make_command<dataset::CacheReleaseOptions, dataset::CacheReleaseResult>(
      {.name = "cache release",
       .summary = "end the leases that keep sets from eviction",
       .description =
           "`shardctl stage` takes a lease in the name of the pod, the Slurm job, or user@host. The same owner ends it "
           "with this when nobody reads the set any more; otherwise it ends by itself. That there is none is no error.",
       .examples = {{"shardctl cache release /nvme/cache/train", "the lease of this pod or job"},
                    {"shardctl cache release /nvme/cache --owner slurm-1234", "all leases of a job, in an epilog"},
                    {"shardctl cache release /nvme/cache/train --all", "everybody's"}}},
      dataset::cache_release);
}

}  // namespace shardkit::apps
