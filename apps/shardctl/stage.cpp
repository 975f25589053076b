#include "dataset/stage/stage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/text_report.hpp"
#include "core/units.hpp"
#include "shardctl/reports.hpp"
#include "shardctl/verbs.hpp"

namespace shardkit::apps {
namespace {

cli::Answer answer_stage(const dataset::StageOptions& options, const dataset::StageResult& result) {
  cli::Answer answer;
  answer.subject = options.target;
  if (const auto& dry = result.dry_run) {
    answer.headline =
        fmt::format("dry run: {} to fetch, {}, checked", format_count(dry->files, "file"), format_size(dry->bytes));
    answer.facts = {{"free", format_size(dry->free_bytes.value_or(0))}};
    answer.next = {command_to_run("shardctl stage", options)};
    return answer;
  }
  const std::string verified = result.verified == staging::Verified::store_checksum
                                   ? "checksums of the store"
                                   : std::string(enum_name(result.verified));
  answer.headline = fmt::format("{} staged, {}", format_count(result.files, "file"), format_size(result.bytes));
  answer.facts = {
      {"fetched", result.bytes_fetched > 0 ? fmt::format("{} in {}, {}", format_size(result.bytes_fetched),
                                                         format_duration(static_cast<double>(result.bytes_fetched) /
                                                                         result.bytes_per_second),
                                                         format_rate(result.bytes_per_second))
                                           : "nothing: all files were in place"},
      {"from peers", result.bytes_from_peers > 0 ? format_size(result.bytes_from_peers) : ""},
      {"resumed", result.resumed.value_or("")},
      {"by others", cli::count_text(result.files_by_others, "file")},
      {"verified",
       result.files_by_size == 0 || result.verified == staging::Verified::size
           ? verified
           : fmt::format("{}; {} only by size", verified, format_count(result.files_by_size, "other file"))},
      {"evicted", fmt::format("{}", fmt::join(result.evicted, ", "))},
      {"left out", cli::count_text(result.left_out, "file")},
      {"lease", result.lease_id ? fmt::format("{} until {}", *result.lease_id, *result.lease_expires_at) : ""},
      {"retries", result.retries > 0 ? format_count(result.retries) : ""}};
  return answer;
}

}  // namespace

cli::Command stage_command() {
  return cli::make_command(
      {.name = "stage",
       .summary = "copy shards to a local disk and verify them with their manifest",
       .description =
           "Copies everything below SRC: the shards of its manifest, or of a manifest in each folder below it, "
           "compared with their checksums while copying, their indexes, and other files, which have no checksum. At "
           "the end, "
           "writes the marker DST/.shardkit/staged.json.\n\nThe same command continues inside "
           "the files. If everything is already there, the command takes milliseconds and "
           "reads no data. Several stages into one folder wait for the first and use its files.\n\nA lease protects "
           "DST from eviction for --lease after the stage, because the staging process exits before the readers start. "
           "With --cache and --limit, evicts sets without a lease, least recently used first.",
       .examples = {{"shardctl stage /mnt/nfs/train /nvme/train", "all shards, verified"},
                    {"shardctl stage /mnt/nfs/train /nvme/train --limit 500GB", "exit code 5 if they need more"},
                    {"shardctl stage s3://data/train /nvme/train --cache /nvme --limit 2TB",
                     "into a cache that jobs share"},
                    {"shardctl stage /mnt/nfs/files /nvme/files --manifest none", "any files, checked only by size"},
                    {"shardctl stage /mnt/nfs/train /nvme/train --log json --soft-fail",
                     "in a Slurm prolog, which would drain the node if it failed"}},
       .main = {"manifest", "include", "rank", "world", "limit", "cache", "lease", "concurrency", "bwlimit", "dry-run"},
       .resumable = true,
       .prometheus = true,
       .soft_fail = true},
      dataset::stage, answer_stage);
}

}  // namespace shardkit::apps
