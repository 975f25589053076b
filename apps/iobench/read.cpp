#include "bench/read/read.hpp"

#include <string>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/field_text.hpp"
#include "cli/text_report.hpp"
#include "core/field_tree.hpp"
#include "core/units.hpp"
#include "iobench/verbs.hpp"

namespace shardkit::apps {
namespace {

std::string verdict_on(const bench::StoreReport& store, double rate) {
  if (store.streaming) return store.streaming->text;
  return fmt::format("the store gives {} with {}; --preset or --required-rate says whether that is enough",
                     format_rate(rate), format_count(store.knee_connections, "connection"));
}

/// What a reader looks for first: how fast, and out of what.
std::string rate_line(const bench::ReadResult& result) {
  const std::string state = result.direct ? "direct" : fmt::format("cache {}", enum_name(result.cache.state));
  std::string line = fmt::format("{}, {}: ", format_rate(result.bytes_per_second), state);
  if (result.samples_per_second && result.samples.value_or(0) > 0) {
    line +=
        fmt::format("{}/s by ", format_count(static_cast<std::uint64_t>(*result.samples_per_second + 0.5), "sample"));
  }
  line += fmt::format("{} of {}", format_count(result.threads, "thread"), result.engine);
  if (result.storage.file_system.empty()) return line;
  line += ", " + result.storage.file_system;
  return result.storage.device.empty() ? line : line + " on " + result.storage.device;
}

}  // namespace

std::string render_read(const bench::ReadResult& result, bool colour) {
  bench::ReadResult all = result;
  const std::string first = result.store ? verdict_on(*result.store, result.bytes_per_second) : rate_line(result);
  std::vector<shardkit::FieldNode> nodes = shardkit::field_tree([&](FieldVisitor& v) { all.describe(v); });
  cli::explain_unknown_flags(nodes);
  return cli::bold(cli::printable(first), colour) + "\n\n" + cli::text_report(nodes);
}

cli::Command read_command() {
  return cli::make_command<bench::ReadOptions, bench::ReadResult>(
      {.name = "read",
       .summary = "measure how fast shards or files come from storage, the page cache or an object store",
       .description =
           "Reads every PATH once, whole files in blocks or single samples in random order, and says how many bytes "
           "and samples a second that gave, how long reads took, and how much of the data was in the page cache before "
           "and after. --min-time reads on, --repeat measures again. --job stands for a fio job of that name. --mode "
           "imagefolder times list, open, stat, read and close apart and says what an epoch costs.\n\nNothing is "
           "written. What cannot be had (a cold cache on tmpfs, O_DIRECT where it is only pretended, an engine) fails "
           "and is not replaced by something else.\n\nWhat lies behind s3:// and http(s):// is asked for in blocks, by "
           "1, 2, 4, ... connections until more bring nothing: the time to the first byte, the rate of each connection "
           "and of all, and the knee of that curve. With --required-rate or a job the verdict is to stream when the "
           "store gives 1.2 times what is required, else to stage first (exit code 3), and after how many epochs that "
           "has paid: requirement / (requirement - rate). Secrets come from the environment or a profile.",
       .examples = {{"iobench read shards/train", "whatever the cache holds, with the share it held"},
                    {"iobench read shards/train --cache cold --threads 8", "from the disk"},
                    {"iobench read shards/train --mode random --direct --samples 5000",
                     "single samples past the page cache"},
                    {"iobench read volume.bin --job rand-read", "as fio's random 256 KiB, depth 32, direct"},
                    {"iobench read photos --mode imagefolder --threads 32", "what opening millions of files costs"},
                    {"iobench read tokens.bin --sample-bytes 8192 --mode random --engine mmap",
                     "samples of a token file out of a mapping"},
                    {"iobench read s3://bucket/train --preset resnet50-h100 --gpus 8",
                     "can these eight stream from the bucket, or is it to be staged?"},
                    {"iobench read 'https://host/x-{000..146}.tar' --threads 128 --required-rate 1.3GB/s",
                     "the same for files of a web server and a rate"}},
       .prometheus = true},
      bench::read, render_read);
}

}  // namespace shardkit::apps
