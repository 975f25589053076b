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
  return fmt::format("{} by {}{} {} {}", lease.live ? "leased" : "formerly leased", cli::printable(lease.owner),
                     purpose, "until", lease.expires_at);
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
  if (folder.partial_bytes > 0) fmt::format_to(to, "  {} in incomplete files\n", format_size(folder.partial_bytes));
  for (const dataset::CacheLsLease& lease : folder.leases) fmt::format_to(to, "  {}\n", lease_text(lease));
  for (const dataset::CacheLsFile& file : folder.contents) {
    fmt::format_to(to, "  {:>10}  {:>14}  {}\n", format_size(file.bytes), in_memory(file.resident_ratio),
                   cli::printable(file.name));
  }
}

/// A line for each staged folder, below it its leases and, if requested, its files; last the totals.
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
       .summary = "list the sets in a node cache, with leases and how much of each is in memory",
       .description =
           "DIR is a folder whose subfolders, at most four levels down, were filled by `shardctl stage`, or one such "
           "subfolder. Lists for each set its source, whether it is complete, when it was last used, its leases, and "
           "how much of it is in the page cache. Changes nothing. DIR may be mounted read-only.",
       .examples = {{"shardctl cache ls /nvme/cache", "one line per set"},
                    {"shardctl cache ls /nvme/cache/train --files", "also one line per file"},
                    {"shardctl cache ls /nvme/cache --json -", "for scripts"}},
       .prometheus = true},
      dataset::cache_ls, render_cache_ls);
}

cli::Command cache_warm_command() {
  return cli::make_command<dataset::CacheWarmOptions, dataset::CacheWarmResult>(
      {.name = "cache warm",
       .summary = "read staged files into the page cache, so that the first epoch reads from memory",
       .description = "Reads whole files, most recently used set first, until all files are in memory or the next one "
                      "does not fit into --memory. In a container, the page cache counts towards the memory limit of "
                      "the first reader. Changes nothing. DIR may be mounted read-only.",
       .examples = {{"shardctl cache warm /nvme/cache/train", "uses at most half of the memory"},
                    {"shardctl cache warm /nvme/cache --memory 400GiB", "uses up to 400 GiB"}}},
      dataset::cache_warm);
}

cli::Command cache_gc_command() {
  return cli::make_command<dataset::CacheGcOptions, dataset::CacheGcResult>(
      {.name = "cache gc",
       .summary = "evict the least recently used sets from a node cache until it fits a limit",
       .description =
           "Removes expired leases, temporary files left by killed processes, and incomplete files without a lease. "
           "With --limit, then evicts whole sets. Never removes a set that is leased, is being staged or has no known "
           "source, nor files that were not staged. Exit code 5 if the limit cannot be reached.",
       .examples = {{"shardctl cache gc /nvme/cache", "only leftovers"},
                    {"shardctl cache gc /nvme/cache --limit 2TB --dry-run", "what would be removed"},
                    {"shardctl cache gc /nvme/cache --limit 2TB", "for a nightly timer"}}},
      dataset::cache_gc);
}

cli::Command cache_check_command() {
  return cli::make_command<dataset::CacheCheckOptions, dataset::CacheCheckResult>(
      {.name = "cache check",
       .summary = "compare staged files with the checksums they were staged with",
       .description =
           "Checks that every staged file exists, has its size and, without --quick, its original bytes. Missing or "
           "wrong files are errors. Files that were not staged are warnings. The next `shardctl stage` fetches files "
           "that are missing or have a wrong size. Files with wrong bytes must be removed first, which --repair does.",
       .examples = {{"shardctl cache check /nvme/cache", "every byte of all sets"},
                    {"shardctl cache check /nvme/cache/train --quick", "only names and sizes, fast"},
                    {"shardctl cache check /nvme/cache --repair", "also removes damaged files"}}},
      dataset::cache_check, nullptr, cache_check_ci);
}

cli::Command cache_release_command() {
  return cli::make_command<dataset::CacheReleaseOptions, dataset::CacheReleaseResult>(
      {.name = "cache release",
       .summary = "end the leases that keep sets from eviction",
       .description =
           "`shardctl stage` takes a lease in the name of the pod, the Slurm job, or user@host. Run this as the same "
           "owner when the set is no longer needed. Otherwise the lease expires. A missing lease is not an error.",
       .examples = {{"shardctl cache release /nvme/cache/train", "the lease of this pod or job"},
                    {"shardctl cache release /nvme/cache --owner slurm-1234", "all leases of a job, in a Slurm epilog"},
                    {"shardctl cache release /nvme/cache/train --all", "everybody's"}}},
      dataset::cache_release);
}

}  // namespace shardkit::apps
