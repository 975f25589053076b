#include "cli/cache_commands.hpp"

#include "cli/reports/cache_report.hpp"
#include "dataset/cache/cache_check.hpp"
#include "dataset/cache/cache_gc.hpp"
#include "dataset/cache/cache_ls.hpp"
#include "dataset/cache/cache_release.hpp"
#include "dataset/cache/cache_warm.hpp"

namespace shardkit {
namespace {

Command cache_ls_command() {
  return make_command<CacheLsOptions, CacheLsResult>(
      {.name = "cache ls",
       .summary = "list what a node cache holds: sets, leases, and how much of each is in memory",
       .description =
           "DIR is a folder of folders that `shardctl stage` fills, at most four deep, or one of them. Says of each "
           "where it came from, whether it is whole, when it was last used, who leases it until when, and which share "
           "of it lies in the page cache. Changes nothing; DIR may be mounted read-only.",
       .examples = {{"shardctl cache ls /nvme/cache", "a line for each set"},
                    {"shardctl cache ls /nvme/cache/train --files", "each file, too"},
                    {"shardctl cache ls /nvme/cache --json -", "for a script"}}},
      cache_ls, render_cache_ls);
}

Command cache_warm_command() {
  return make_command<CacheWarmOptions, CacheWarmResult>(
      {.name = "cache warm",
       .summary = "read staged files into the page cache, so that the first epoch reads memory",
       .description =
           "Reads whole files, those of the set used last first, until all are in memory or the next does not fit in "
           "--memory. In a container the page cache counts against the memory limit of whoever read first. Changes "
           "nothing; DIR may be mounted read-only.",
       .examples = {{"shardctl cache warm /nvme/cache/train", "half of the memory at most"},
                    {"shardctl cache warm /nvme/cache --memory 400GiB", "as much as that"}}},
      cache_warm);
}

Command cache_gc_command() {
  return make_command<CacheGcOptions, CacheGcResult>(
      {.name = "cache gc",
       .summary = "evict sets from a node cache, those used least recently first, down to a limit",
       .description =
           "Removes leases that have ended, temporaries of the dead, and parts of files that nobody leases; with "
           "--limit then whole sets. Never a set that is leased, being staged, or of no known source, and never a file "
           "that no stage brought. Exit code 5 when the limit cannot be reached.",
       .examples = {{"shardctl cache gc /nvme/cache", "leftovers only"},
                    {"shardctl cache gc /nvme/cache --limit 2TB --dry-run", "what would go"},
                    {"shardctl cache gc /nvme/cache --limit 2TB", "in a nightly timer"}}},
      cache_gc);
}

Command cache_check_command() {
  return make_command<CacheCheckOptions, CacheCheckResult>(
      {.name = "cache check",
       .summary = "hold staged files against the checksums they were staged with",
       .description =
           "Every file that a stage brought has to be there with its size and, unless --quick, with the bytes it had. "
           "Missing or wrong files are errors, files that no stage brought warnings. The next `shardctl stage` brings "
           "what is missing or has a wrong size; wrong bytes have to be removed first, which --repair does.",
       .examples = {{"shardctl cache check /nvme/cache", "every byte of all sets"},
                    {"shardctl cache check /nvme/cache/train --quick", "names and sizes, in a moment"},
                    {"shardctl cache check /nvme/cache --repair", "and remove what is damaged"}},
       .findings = true},
      cache_check);
}

Command cache_release_command() {
  return make_command<CacheReleaseOptions, CacheReleaseResult>(
      {.name = "cache release",
       .summary = "end the leases that keep sets from eviction",
       .description =
           "`shardctl stage` takes a lease in the name of the pod, the Slurm job, or user@host. The same owner ends it "
           "with this when nobody reads the set any more; otherwise it ends by itself. That there is none is no error.",
       .examples = {{"shardctl cache release /nvme/cache/train", "the lease of this pod or job"},
                    {"shardctl cache release /nvme/cache --owner slurm-1234", "all leases of a job, in an epilog"},
                    {"shardctl cache release /nvme/cache/train --all", "everybody's"}}},
      cache_release);
}

}  // namespace

std::vector<Command> cache_commands() {
  return {cache_ls_command(), cache_warm_command(), cache_gc_command(), cache_check_command(), cache_release_command()};
}

}  // namespace shardkit
