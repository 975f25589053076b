#include "bench/checkpoint/checkpoint.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "core/units.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

/// The most important facts.
std::string_view pile_up(const bench::CheckpointResult& result) {
  const auto piles_up = [](const bench::CheckpointRow& row) { return row.headroom_ratio.value_or(1) < 1; };
  if (std::ranges::any_of(result.rows, piles_up)) return "checkpoints take longer than the time between them: ";
  return result.has_findings() ? "copies of checkpoints take longer than the time between them: " : "";
}

std::string headline(const bench::CheckpointResult& result) {
  std::string text;
  for (const bench::CheckpointRow& row : result.rows) {
    const bool copies = row.mode == bench::CheckpointMode::background;
    text += fmt::format("{}{}{}", text.empty() ? "training waits " : ", ", format_duration(row.block_seconds),
                        copies ? " with a copy in memory" : "");
    if (copies) text += fmt::format(" (durable after {})", format_duration(row.durable_seconds));
  }
  return fmt::format("{}{}", pile_up(result), text) + fmt::format(" for a checkpoint of {} by {}",
                                                                  typed_size(result.rows.front().bytes),
                                                                  format_count(result.writers, "writer"));
}

void add_rows(const bench::CheckpointResult& result, std::string& out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{:<12}{:>10}{:>22}{:>10}{:>12}{:>10}{:>10}{:>14}\n", "mode", "waits",
                 result.rows.front().repetitions < 6 ? "from to" : "95 % interval", "durable", "rate", "fsync",
                 "p99 write", "slowest rank");
  for (const bench::CheckpointRow& row : result.rows) {
    fmt::format_to(to, "{:<12}{:>10}{:>22}{:>10}{:>12}{:>10}{:>10}{:>14}\n", enum_name(row.mode),
                   format_duration(row.block_seconds),
                   format_duration(row.block_interval.low) + " to " + format_duration(row.block_interval.high),
                   format_duration(row.durable_seconds), format_rate(row.bytes_per_second),
                   format_duration(row.sync_seconds), format_duration(row.write_latency.p99),
                   format_duration(row.slowest_rank_seconds));
  }
}

/// Two digits for small values, no exponents: "0.8", "100", "less than 0.001".
std::string plain(double value) {
  if (value > 0 && value < 0.001) return "less than 0.001";
  if (value >= 10) return format_rounded_count(value);
  return fmt::format("{:.2g}", value);
}

void add_training(const bench::CheckpointResult& result, std::string& out) {
  auto to = std::back_inserter(out);
  for (const bench::CheckpointRow& row : result.rows) {
    if (!row.share_ratio) continue;
    fmt::format_to(to, "{}: checkpoints take {} % of the running time", enum_name(row.mode),
                   plain(*row.share_ratio * 100));
    if (row.headroom_ratio) {
      fmt::format_to(to, "; the time between checkpoints is {} times the time until one is durable",
                     *row.headroom_ratio > 1000 ? "more than 1000" : plain(*row.headroom_ratio));
    }
    out += row.headroom_ratio.value_or(1) < 1 ? ": checkpoints cannot keep up\n" : "\n";
  }
}

void add_copies(const bench::CheckpointResult& result, std::string& out) {
  auto to = std::back_inserter(out);
  if (result.drain) {
    fmt::format_to(to, "copied to {} in {} ({})", cli::printable(result.drain->directory),
                   format_duration(result.drain->drain_seconds), format_rate(result.drain->bytes_per_second));
    out += result.drain->headroom_ratio.value_or(1) < 1 ? ": slower than the time between checkpoints\n" : "\n";
  }
  for (const bench::CheckpointRestore& restore : result.read_back) {
    fmt::format_to(to, "read back from {} in {} ({}, cache {}), all bytes correct\n", cli::printable(restore.directory),
                   format_duration(restore.read_seconds), format_rate(restore.bytes_per_second),
                   enum_name(restore.cache_state));
  }
}

}  // namespace

cli::Answer answer_checkpoint(const bench::CheckpointResult& result) {
  cli::Answer answer{.headline = headline(result)};
  std::string& out = answer.body;
  add_rows(result, out);
  add_training(result, out);
  add_copies(result, out);
  const system::StorageFacts& storage = result.storage;
  fmt::format_to(std::back_inserter(out), "\nwritten to {}{}{} at {}, {} per write{}\n", storage.file_system,
                 storage.device.empty() ? "" : ", ", storage.device, cli::printable(storage.mount_point),
                 typed_size(result.block), result.direct ? ", bypassing the page cache" : "");
  return answer;
}

cli::Command checkpoint_command() {
  return cli::make_command<bench::CheckpointOptions, bench::CheckpointResult>(
      {.name = "checkpoint",
       .summary = "measure how long training waits for a checkpoint",
       .description =
           "Writes checkpoints into a new folder below DIR, one file per rank, all at once. Measures the time until "
           "data, names and folder would survive a power cut. In mode sync, training waits for all of it, as with a "
           "plain save. In mode background, training waits only for a copy in memory, and the data is written "
           "afterwards. A checkpoint takes as long as its slowest rank. The folder is removed at the end.\n\nWith "
           "--step-time and --checkpoint-every, also reports the share of training time that checkpoints take. Exit "
           "code 3 if a "
           "background write or a copy (--drain-to) is not finished before the next checkpoint begins.",
       .examples = {{"iobench checkpoint /nvme", "1 GiB, both modes, three times each"},
                    {"iobench checkpoint /lustre/ckpt --preset llama3-70b --bytes 8GiB --recheck",
                     "8 GiB by the 8 ranks of a node; compares every byte"},
                    {"iobench checkpoint /ssd --drain-to /nfs --step-time 2s --checkpoint-every 500",
                     "fast disk first, then copy to slower storage: does that keep up?"}},
       .main = {"mode", "preset", "bytes", "threads", "direct", "repeat", "drain-to", "step-time", "checkpoint-every"},
       .prometheus = true,
       .labels = true},
      bench::checkpoint, answer_checkpoint);
}

}  // namespace shardkit::apps
