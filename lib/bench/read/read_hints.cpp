#include "bench/read/read_hints.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/read/read_options.hpp"
#include "core/remedies.hpp"

namespace shardkit::bench {
namespace {

using Hints = std::vector<std::string>;

void hint_at_time(const ReadOptions& options, const ReadResult& result, Hints& hints) {
  constexpr double kShort = 1;
  if (options.min_time && result.read_seconds < *options.min_time && !may_read_again(options)) {
    hints.emplace_back(
        "read only once, because the data is in memory now: use --cache cold, --cache warm or --direct to read until "
        "--min-time has passed");
  } else if (result.read_seconds < kShort && options.prepare_seconds) {  // a stage of `run`, with other options
    hints.push_back(fmt::format("reading took only {}; {} gives a steadier rate", format_duration(result.read_seconds),
                                options.direct ? "a longer --budget" : "more data, or --cache direct,"));
  } else if (result.read_seconds < kShort) {
    hints.push_back(fmt::format("the run took only {}; {} gives a steadier rate", format_duration(result.read_seconds),
                                options.mode == ReadMode::imagefolder ? "a folder with more files"
                                : options.min_time                    ? "a longer --min-time"
                                : may_read_again(options)
                                    ? "--min-time 2s, which reads the data again,"
                                    : "--min-time 2s with --cache cold, --cache warm or --direct"));
  }
  if (result.steady == false)
    hints.emplace_back("the rate drifted from start to end; read more data or set a longer --budget");
}

void hint_at_cache(const ReadResult& result, Hints& hints) {
  if (result.cache.state == CacheState::mixed) {
    hints.emplace_back("part of the data was in memory; use --cache cold or --cache warm to measure one state");
  }
  std::string elsewhere = cold_elsewhere(result.cache.state, result.storage.storage_class);
  if (!elsewhere.empty()) hints.push_back(std::move(elsewhere));
}

/// Unpacking takes time in the threads that read.
void hint_at_unpacking(const ReadResult& result, Hints& hints) {
  if (!result.unpack_cpu_seconds_per_sample || result.read_seconds <= 0) return;
  const double seconds = *result.unpack_cpu_seconds_per_sample * static_cast<double>(result.samples.value_or(0));
  hints.push_back(
      fmt::format("unpacking took {} of CPU time for each sample, {:.0f} % of the time of the threads, and lowers the "
                  "rates: `iobench run` measures storage without it",
                  format_duration(*result.unpack_cpu_seconds_per_sample),
                  100 * seconds / (result.read_seconds * static_cast<double>(result.threads))));
}

void hint_at_copies(const ReadResult& result, Hints& hints) {
  constexpr double kMostMissing = 0.1;
  const bool from_disk = result.direct || result.cache.state == CacheState::cold;
  const std::uint64_t read = result.device->read_bytes;
  if (!from_disk || static_cast<double>(read) >= static_cast<double>(result.bytes) * (1 - kMostMissing)) return;
  hints.push_back(
      fmt::format("the kernel read only {} from the device for {} delivered: another layer caches the data, or the "
                  "same data was requested several times",
                  format_size(read), format_size(result.bytes)));
}

void hint_at_device(const ReadResult& result, Hints& hints) {
  constexpr double kNoticeableShare = 0.1;
  constexpr double kLongWait = 10e-3;
  constexpr double kSmallRequest = 16 * 1024;
  if (!result.device) return;
  hint_at_copies(result, hints);
  const DeviceActivity& device = *result.device;
  const auto read = static_cast<double>(device.read_bytes);
  if (read < kNoticeableShare * static_cast<double>(result.bytes)) return;  // its work was for others
  if (device.mean_wait > kLongWait) {
    hints.push_back(
        fmt::format("the device answered after {} on average, with {:.0f} requests waiting; above 10 ms it is "
                    "overloaded, far away, or has too many requests in flight",
                    format_duration(device.mean_wait), device.mean_queue));
  }
  if (device.mean_request < kSmallRequest && static_cast<double>(result.block) >= kSmallRequest) {
    hints.push_back(fmt::format(
        "requests to the device were {:.0f} bytes on average; below 16 KiB they cost throughput", device.mean_request));
  }
}

/// The part of the data that was not read, or not as samples.
void hint_at_data(const ReadOptions& options, const InputSet& input, const ReadPlan& plan, Hints& hints) {
  const auto behind = [&](const InputFile& file) { return file.bytes % grid_of(options) != 0; };
  const auto cut = reads_grid(options) ? std::ranges::count_if(plan.files, behind) : 0;
  if (cut > 0) {
    hints.push_back(fmt::format("the size of {} is not a multiple of {}; the remainder was not read",
                                format_count(static_cast<std::uint64_t>(cut), "file"), typed_size(grid_of(options))));
  }
  if (options.mode == ReadMode::sequential && !plan.counts_samples) {
    hints.push_back(why_not_counted(options, plan.files));
  }
  if (plan.files.size() < input.files.size()) {
    hints.push_back(
        fmt::format("only {} of {} were read: preparing the cache state of more takes too long; use a longer --budget",
                    plan.files.size(), format_count(input.files.size(), "file")));
  }
}

}  // namespace

std::string why_not_counted(const ReadOptions& options, std::span<const InputFile> files) {
  if (has_compressed(files)) {
    return "with --depth above 1, compressed shards are not unpacked and their samples are not counted; use --depth 1";
  }
  return fmt::format("with --depth above 1, samples of shards without an index are not counted; create one with {}",
                     remedy::in_text(remedy::index(options.paths)));
}

std::string why_no_samples(const ReadOptions& options, std::span<const InputFile> files, const ReadResult& result) {
  if (result.bytes == 0) return "nothing was read within the time limit; use a longer --budget";
  if (options.sample_bytes) {
    return fmt::format("only {} were read, less than one sample of {}; use a longer --budget",
                       format_size(result.bytes), typed_size(*options.sample_bytes));
  }
  std::uint64_t all = 0;
  for (const InputFile& file : files) all += file.bytes;
  if (std::ranges::none_of(files, &InputFile::is_shard)) {
    return fmt::format(
        "none of {} was read to its end, and each counts as one sample; use a longer --budget, or give the size of the "
        "samples within a file with --sample-bytes",
        format_count(files.size(), "file"));
  }
  if (result.bytes < all) return "no sample of the shards was read completely; use a longer --budget";
  return "the shards contain no samples, which are members whose names have an extension";
}

void add_read_hints(const ReadOptions& options, const InputSet& input, const ReadPlan& plan, ReadResult& result) {
  hint_at_data(options, input, plan, result.hints);
  hint_at_time(options, result, result.hints);
  hint_at_cache(result, result.hints);
  hint_at_unpacking(result, result.hints);
  hint_at_device(result, result.hints);
}

}  // namespace shardkit::bench
