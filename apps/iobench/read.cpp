#include "bench/read/read.hpp"

#include <string>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "cli/text_report.hpp"
#include "core/field_tree.hpp"
#include "core/units.hpp"
#include "iobench/cells.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

std::string verdict_on(const bench::StoreReport& store, double rate) {
  if (store.streaming) return store.streaming->text;
  return fmt::format("the store delivers {} with {}; use --required-rate to find out whether that is enough",
                     format_rate(rate), format_count(store.knee_connections, "connection"));
}

/// The most important line: how fast, and from where.
std::string rate_line(const bench::ReadResult& result) {
  const std::string state = result.direct ? "direct" : fmt::format("cache {}", enum_name(result.cache.state));
  std::string line = fmt::format("{}, {}: ", format_rate(result.bytes_per_second), state);
  if (result.samples_per_second && result.samples.value_or(0) > 0) {
    line +=
        fmt::format("{}/s with ", format_count(static_cast<std::uint64_t>(*result.samples_per_second + 0.5), "sample"));
  }
  line += fmt::format("{} ({})", format_count(result.threads, result.store ? "connection" : "reading thread"),
                      result.engine);
  if (result.storage.file_system.empty()) return line;
  line += ", " + result.storage.file_system;
  return result.storage.device.empty() ? line : line + " on " + result.storage.device;
}

/// The requests: "256KiB blocks, queue depth 1".
std::string pieces_text(const bench::ReadResult& result) {
  if (result.mode == bench::ReadMode::imagefolder) return "each as a whole";
  const bool of_samples = result.mode == bench::ReadMode::random && result.samples;
  return fmt::format("{}{}", of_samples ? "one sample per request" : typed_size(result.block) + " blocks",
                     result.depth ? fmt::format(", queue depth {}", *result.depth) : "");
}

std::string latency_text(const stats::LatencyQuantiles& latency) {
  return fmt::format("p50 {}, p99 {}, at most {}", format_duration(latency.p50), format_duration(latency.p99),
                     format_duration(latency.max));
}

void add_store_facts(const bench::StoreReport& store, cli::Answer& answer) {
  answer.facts.emplace_back("store", store.location);
  if (store.ttfb) answer.facts.emplace_back("first byte", latency_text(*store.ttfb));
  answer.facts.emplace_back(
      "connection",
      fmt::format("{} each, best with {}", format_rate(store.bytes_per_second_per_connection), store.knee_connections));
  if (store.retries + store.throttled > 0) {
    answer.facts.emplace_back("retries", fmt::format("{}, {} throttled", format_count(store.retries), store.throttled));
  }
  answer.body += cli::table_text("connections", store.levels);
}

void add_local_facts(const bench::ReadResult& result, cli::Answer& answer) {
  answer.facts.emplace_back("latency", latency_text(result.latency));
  if (result.mean_sample) {
    answer.facts.emplace_back("sample", format_rounded_size(*result.mean_sample) + " on average");
  }
  if (const auto& interval = result.bytes_per_second_interval) {
    answer.facts.emplace_back("interval",
                              fmt::format("{} to {} (95 %)", format_rate(interval->low), format_rate(interval->high)));
  }
  if (!result.direct && result.cache.residency_before_ratio) {
    answer.facts.emplace_back("in cache",
                              fmt::format("{} before, {} after", cli::percent_text(result.cache.residency_before_ratio),
                                          cli::percent_text(result.cache.residency_after_ratio)));
  }
  const system::StorageFacts& storage = result.storage;
  if (!storage.file_system.empty()) {
    answer.facts.emplace_back("storage", cli::Facts()
                                             .add(fmt::format("{} at {}", storage.file_system, storage.mount_point))
                                             .add(storage.source)
                                             .add_size(storage.read_ahead, " read-ahead")
                                             .text());
  }
}

}  // namespace

cli::Answer answer_read(const bench::RepeatedReadResult& result) {
  cli::Answer answer{.headline = result.store ? verdict_on(*result.store, result.bytes_per_second) : rate_line(result)};
  answer.facts = {{"read", fmt::format("{} of {}, {}", format_size(result.bytes), format_count(result.files, "file"),
                                       pieces_text(result))},
                  {"steady", cli::steady_text(result.steady, result.read_seconds)}};
  if (result.store) {
    add_store_facts(*result.store, answer);
  } else {
    add_local_facts(result, answer);
  }
  answer.body += repeated_text(result.repeated, result.repetitions.size());
  if (result.imagefolder) {
    answer.facts.emplace_back("epoch", fmt::format("{} for {}", format_duration(result.imagefolder->epoch_seconds),
                                                   format_count(result.imagefolder->files, "file")));
    answer.body += cli::table_text("operations", result.imagefolder->operations);
  }
  for (const std::string& hint : result.hints) answer.body += fmt::format("hint: {}\n", cli::printable(hint));
  return answer;
}

cli::Command read_command() {
  return cli::make_command<bench::RepeatedReadOptions, bench::RepeatedReadResult>(
      {.name = "read",
       .summary = "measure reads from storage, the page cache or an object store",
       .description =
           "Reads every PATH once: whole files in blocks, or single samples in random order. Reports bytes and samples "
           "per second, read latency, and how much of the data was in the page cache before and after. With --min-time "
           "it continues to read, with --repeat it measures again. --mode imagefolder measures list, open, stat, read "
           "and close separately and reports the cost of an "
           "epoch.\n\nWrites nothing. Fails if the requested cache state or engine is not available. Never falls back "
           "silently.\n\nObjects at s3:// and http(s):// are requested in blocks over 1, 2, 4, ... connections until "
           "more connections add nothing. Reports the time to the first byte, the rate per connection and in total, "
           "and the knee of that curve. With --required-rate, the verdict is to stream if the store delivers "
           "1.2 times the required rate. Otherwise it is to stage first (exit code 3), with the number of epochs after "
           "which staging has paid off. Credentials come from the environment or a profile.",
       .examples = {{"iobench read shards/train", "in whatever cache state the data is"},
                    {"iobench read shards/train --cache cold --threads 8", "from disk"},
                    {"iobench read shards/train --mode random --direct --samples 5000",
                     "single samples, bypassing the page cache"},
                    {"iobench read volume.bin --mode random --block 256KiB --engine uring --direct",
                     "like fio's random read, 32 in flight in each thread"},
                    {"iobench read photos --mode imagefolder --threads 32", "the cost of opening millions of files"},
                    {"iobench read tokens.bin --sample-bytes 8192 --mode random --engine mmap",
                     "samples of a token file, through a memory mapping"},
                    {"iobench read s3://bucket/train --required-rate 1.5GB/s",
                     "can a job that reads 1.5 GB/s stream from the bucket, or should the data be staged?"}},
       .main = {"mode", "threads", "block", "engine", "depth", "direct", "cache", "samples", "budget", "repeat",
                "required-rate"},
       .prometheus = true,
       .schema_version = 2,
       .labels = true,
       .doubts = true},
      bench::read_repeatedly, answer_read);
}

}  // namespace shardkit::apps
