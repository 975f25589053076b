#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "core/units.hpp"
#include "dataset/cache/cache_check.hpp"
#include "dataset/cache/cache_gc.hpp"
#include "dataset/cache/cache_lease.hpp"
#include "dataset/cache/cache_ls.hpp"
#include "dataset/cache/cache_warm.hpp"
#include "shardctl/reports.hpp"
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
  return fmt::format("{} by {} {}until {}", lease.live ? "leased" : "formerly leased", cli::printable(lease.owner),
                     lease.held ? "while its `cache hold` runs, now " : "", lease.expires_at);
}

void add_folder(const dataset::CacheLsFolder& folder, std::size_t width, std::string& out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{:<{}}  {:<11}  {:>12}  {:>9}  used {}", cli::printable(folder.path), width,
                 state_text(folder.state), format_count(folder.files, "file"), format_size(folder.bytes),
                 folder.state == staging::StagedState::unreadable ? "at an unknown time" : folder.last_used_at);
  if (folder.resident_ratio) fmt::format_to(to, "  {}", in_memory(folder.resident_ratio));
  if (folder.hits > 0) fmt::format_to(to, "  {}", format_count(folder.hits, "hit"));
  out += '\n';
  if (!folder.source.empty()) fmt::format_to(to, "  from {}\n", cli::printable(folder.source));
  if (!folder.fault.empty()) fmt::format_to(to, "  {}\n", cli::printable(folder.fault));
  if (folder.partial_bytes > 0) {
    fmt::format_to(to, "  incomplete files: {} arrived, {} on disk\n", format_size(folder.arrived_bytes),
                   format_size(folder.partial_bytes));
  }
  for (const dataset::CacheLsLease& lease : folder.lease_rows) fmt::format_to(to, "  {}\n", lease_text(lease));
  for (const dataset::CacheLsFile& file : folder.contents) {
    fmt::format_to(to, "  {:>10}  {:>14}  {}\n", format_size(file.bytes), in_memory(file.resident_ratio),
                   cli::printable(file.name));
  }
}

/// A line for each staged folder, below it its leases and, if requested, its files.
cli::Answer answer_cache_ls(const dataset::CacheLsOptions& options, const dataset::CacheLsResult& result) {
  cli::Answer answer;
  answer.headline = fmt::format("{}, {}, {}", format_count(result.folders.size(), "staged folder"),
                                format_count(result.files, "file"), format_size(result.bytes));
  if (result.partial_bytes > 0)
    answer.headline += fmt::format(", {} on disk in incomplete files", format_size(result.partial_bytes));
  if (result.leased_bytes > 0) answer.headline += fmt::format(", {} of it leased", format_size(result.leased_bytes));
  if (result.resident_ratio) answer.headline += ", " + in_memory(result.resident_ratio);
  answer.subject = options.folder;
  std::size_t width = 0;
  for (const dataset::CacheLsFolder& folder : result.folders)
    width = std::max(width, cli::printable(folder.path).size());
  for (const dataset::CacheLsFolder& folder : result.folders) add_folder(folder, width, answer.body);
  return answer;
}

cli::Answer answer_cache_check(const dataset::CacheCheckOptions& options, const dataset::CacheCheckResult& result) {
  cli::Answer answer;
  const std::string checked =
      fmt::format("{} in {}, {}, {}", format_count(result.files, "file"), format_count(result.folders, "staged folder"),
                  format_size(result.bytes),
                  result.depth == dataset::CacheCheckDepth::structure ? "names and sizes" : "every byte");
  const std::string problems =
      fmt::format("{}, {}", format_count(result.errors, "error"), format_count(result.warnings, "warning"));
  answer.headline = fmt::format("{}: {}", result.problems_total == 0 ? "sound" : problems, checked);
  if (result.folders == 0) answer.headline = "nothing to check";
  answer.subject = options.folder;
  if (result.bytes_per_second > 0) answer.facts = {{"rate", format_rate(result.bytes_per_second)}};
  if (result.discarded > 0) answer.facts.emplace_back("marked", format_count(result.discarded, "damaged file"));
  answer.body = findings_text(result.problems, result.problems_total);
  answer.next = result.remedies;
  return answer;
}

cli::Answer answer_cache_gc(const dataset::CacheGcOptions& options, const dataset::CacheGcResult& result) {
  cli::Answer answer;
  answer.headline = result.evicted.empty()
                        ? "nothing to evict"
                        : fmt::format("{} {}, {}", result.dry_run ? "would evict" : "evicted",
                                      format_count(result.evicted.size(), "set"), format_size(result.evicted_bytes));
  answer.subject = options.folder;
  for (const dataset::CacheGcFolder& folder : result.evicted) {
    answer.facts.emplace_back(
        "evicted", fmt::format("{} ({}), last used {}", folder.path, format_size(folder.bytes), folder.last_used));
  }
  if (result.leftover_files > 0) {
    answer.facts.emplace_back("leftovers", fmt::format("{}, {}", format_count(result.leftover_files, "file"),
                                                       format_size(result.leftover_bytes)));
  }
  answer.facts.emplace_back(
      "left", fmt::format("{}, {}", format_count(result.folders_left, "set"), format_size(result.bytes_left)));
  return answer;
}

cli::Answer answer_cache_warm(const dataset::CacheWarmOptions& options, const dataset::CacheWarmResult& result) {
  cli::Answer answer;
  answer.headline = fmt::format("warmed {} of {}, {}", format_count(result.files_warmed),
                                format_count(result.files, "file"), format_size(result.bytes_warmed));
  answer.subject = options.folder;
  if (result.bytes_read > 0) {
    answer.facts.emplace_back(
        "read", fmt::format("{}, {}", format_size(result.bytes_read), format_rate(result.bytes_per_second)));
  }
  if (result.residency_before_ratio && result.residency_after_ratio) {
    answer.facts.emplace_back(
        "in memory", fmt::format("{:.0f} % of all files before, {:.0f} % now", *result.residency_before_ratio * 100,
                                 *result.residency_after_ratio * 100));
  }
  answer.facts.emplace_back("limit", options.memory ? typed_size(*options.memory) : format_size(result.budget_bytes));
  return answer;
}

std::string leases_that_stay(std::uint64_t held) {
  return held == 0 ? "" : fmt::format("{} of a running `cache hold` of this job", format_count(held, "lease"));
}

cli::Answer answer_cache_release(const dataset::CacheReleaseOptions& options,
                                 const dataset::CacheReleaseResult& result) {
  cli::Answer answer;
  answer.headline = result.released == 0
                        ? fmt::format("no lease{} to release", result.owner.empty() ? "" : " of " + result.owner)
                        : fmt::format("{} released of {}", format_count(result.released, "lease"),
                                      format_count(result.folders, "staged folder"));
  answer.subject = options.folder;
  if (result.released > 0) answer.facts = {{"job", result.owner}};
  answer.facts.emplace_back("stay", leases_that_stay(result.held));
  return answer;
}

cli::Answer answer_cache_hold(const dataset::CacheHoldOptions& options, const dataset::CacheHoldResult& result) {
  cli::Answer answer;
  answer.headline = "released by " + result.lease_id;
  answer.subject = options.folder;
  answer.facts = {{"stay", leases_that_stay(result.held)}};
  return answer;
}

cli::Answer answer_cache_rm(const dataset::CacheGcFolder& set) {
  cli::Answer answer;
  answer.headline = "removed, " + format_size(set.bytes);
  answer.subject = set.path;
  return answer;
}

}  // namespace

cli::Command cache_ls_command() {
  return cli::make_command<dataset::CacheLsOptions, dataset::CacheLsResult>(
      {.name = "cache ls",
       .summary = "list the sets in a node cache, their leases and cached bytes",
       .description =
           "DIR is a folder whose subfolders, at most four levels down, were filled by `shardctl stage`, or one such "
           "subfolder. Lists for each set its source, whether it is complete, when it was last used, its leases, and "
           "how much of it is in the page cache. Changes nothing. DIR may be mounted read-only.",
       .examples = {{"shardctl cache ls /nvme/cache", "one line per set"},
                    {"shardctl cache ls /nvme/cache/train --long", "also one line per file"},
                    {"shardctl cache ls /nvme/cache --json -", "for scripts"}},
       .prometheus = true},
      dataset::cache_ls, answer_cache_ls);
}

cli::Command cache_warm_command() {
  return cli::make_command<dataset::CacheWarmOptions, dataset::CacheWarmResult>(
      {.name = "cache warm",
       .summary = "read staged files into the page cache",
       .description = "Reads whole files, most recently used set first, until all files are in memory or the next one "
                      "does not fit into --memory. In a container, the page cache counts towards the memory limit of "
                      "the first reader. Changes nothing. DIR may be mounted read-only.",
       .examples = {{"shardctl cache warm /nvme/cache/train", "uses at most half of the memory"},
                    {"shardctl cache warm /nvme/cache --memory 400GiB", "uses up to 400 GiB"}}},
      dataset::cache_warm, answer_cache_warm);
}

cli::Command cache_gc_command() {
  return cli::make_command<dataset::CacheGcOptions, dataset::CacheGcResult>(
      {.name = "cache gc",
       .summary = "evict least recently used sets until a limit is met",
       .description =
           "Removes expired leases, temporary files left by killed processes, and incomplete files without a lease. "
           "With --limit, then evicts whole sets. Never removes a set that is leased, is being staged or has no known "
           "source, nor files that were not staged. Exit code 5 if the limit cannot be reached.",
       .examples = {{"shardctl cache gc /nvme/cache", "only leftovers"},
                    {"shardctl cache gc /nvme/cache --limit 2TB --dry-run", "what would be removed"},
                    {"shardctl cache gc /nvme/cache --limit 2TB", "for a nightly timer"}}},
      dataset::cache_gc, answer_cache_gc);
}

cli::Command cache_check_command() {
  return cli::make_command<dataset::CacheCheckOptions, dataset::CacheCheckResult>(
      {.name = "cache check",
       .summary = "compare staged files with the checksums they were staged with",
       .description =
           "Checks that every staged file exists and has its size and its original bytes. Missing or "
           "wrong files are errors. Files that were not staged are warnings. The next `shardctl stage` fetches files "
           "that are missing or were changed by a program. A file whose bytes changed without a new modification time, "
           "as by a faulty disk, looks unchanged: --repair marks it, so that the next stage replaces it, also if the "
           "set is leased.",
       .examples = {{"shardctl cache check /nvme/cache", "every byte of all sets"},
                    {"shardctl cache check /nvme/cache/train --depth structure", "only names and sizes, fast"},
                    {"shardctl cache check /nvme/cache --repair", "also marks damaged files"}}},
      dataset::cache_check, answer_cache_check);
}

cli::Command cache_release_command() {
  return cli::make_command<dataset::CacheReleaseOptions, dataset::CacheReleaseResult>(
      {.name = "cache release",
       .summary = "end the leases that keep sets from eviction",
       .description =
           "`shardctl stage` takes a lease for its pod or Slurm job, or with a random id that it prints. Run this in "
           "the same job, or with --lease-id, when the set is no longer needed. Otherwise the lease expires. A missing "
           "lease is not an error. A running `cache hold` ends its leases itself; those of one that was killed end "
           "here.",
       .examples = {{"shardctl cache release /nvme/cache/train", "the lease of this pod or job"},
                    {"shardctl cache release /nvme/cache --lease-id slurm-1234",
                     "all leases of a job, in a Slurm epilog"},
                    {"shardctl cache release /nvme/cache/train --all", "the leases of all jobs"}}},
      dataset::cache_release, answer_cache_release);
}

cli::Command cache_hold_command() {
  return cli::make_command<dataset::CacheHoldOptions, dataset::CacheHoldResult>(
      {.name = "cache hold",
       .summary = "lease a set until this process ends, for a sidecar",
       .description =
           "Takes a lease for DIR, renews it while it runs, and ends it on SIGTERM or Ctrl-C with exit code 0. "
           "The last `cache hold` of a job also ends the lease that the job's `shardctl stage` took. If the process "
           "is killed, the lease expires after --lease. DIR may be staged later.",
       .examples = {{"shardctl cache hold /cache/train", "sidecar of a pod"},
                    {"shardctl cache hold /nvme/train --lease-id \"$JOB\" & hold=$!; train; kill $hold",
                     "around a command"}},
       .live = true},
      dataset::cache_hold, answer_cache_hold);
}

cli::Command cache_rm_command() {
  return cli::make_command<dataset::CacheRmOptions, dataset::CacheGcFolder>(
      {.name = "cache rm",
       .summary = "remove a set from a node cache",
       .description = "Removes the files that stages copied to SET, also those of a stage that was killed, and nothing "
                      "else there. Exit code 1 if the set is leased or is being staged: try again later.",
       .examples = {{"shardctl cache rm /nvme/cache/train", "one set"},
                    {"shardctl cache release /nvme/cache/train --all", "before that, if it is leased"}}},
      dataset::cache_rm, answer_cache_rm);
}

}  // namespace shardkit::apps
