#include "bench/read/folder_read.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <limits>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/read/folder_walk.hpp"
#include "bench/read/read.hpp"
#include "bench/read/read_options.hpp"
#include "bench/read/read_passes.hpp"
#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "core/prng.hpp"
#include "system/block_device.hpp"

namespace shardkit::bench {

void FolderOperation::describe(FieldVisitor& v) {
  v.field({"name", "list (a folder), open, stat, read (a whole file) or close"}, name);
  v.field({"count", Unit::count, "how many were made"}, count);
  v.field({"per_second", Unit::per_second, "how many the threads make that do nothing else"}, per_second);
  v.field({"p50", Unit::seconds, "half took no longer"}, p50);
  v.field({"p99", Unit::seconds, "99 of 100 took no longer"}, p99);
  v.field({"time_ratio", Unit::ratio, "share of the time of an epoch; of list 0, as loaders list once"}, time_ratio);
}

void FolderReport::describe(FieldVisitor& v) {
  v.field({"folders", Unit::count, "folders listed"}, folders);
  v.field({"files", Unit::count, "files found; hidden ones are left out"}, files);
  v.field({"list_seconds", Unit::seconds, "time to list them, one folder after another as torchvision does"},
          list_seconds);
  v.field({"files_per_second", Unit::per_second, "files opened, read and closed, by all threads"}, files_per_second);
  v.field({"metadata_operations_per_second", Unit::per_second,
           "opens, stats and closes that the threads make that read nothing"},
          metadata_operations_per_second);
  v.field({"epoch", Unit::seconds, "time to read each file once at that rate"}, epoch_seconds);
  v.field({"epoch_hours", "the same in hours"}, epoch_hours);
  v.field(
      {"metadata_cache", "whether names and attributes were in memory: cold, warm, or as_found: whatever was there"},
      metadata_cache);
  v.field({"operations", "each kind of call apart"}, operations);
}

namespace {

void check_folders(const std::vector<std::string>& paths) {
  if (paths.empty()) throw Error(ErrorCode::usage, "nothing to read was named");
  for (const std::string& path : paths) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) throw system_error(errno, "list", path);
    if (S_ISDIR(info.st_mode)) continue;
    throw Error(ErrorCode::usage, fmt::format("'{}' is no folder: --mode imagefolder lists folders", path), path);
  }
}

/// Empties the kernel's caches of names and attributes, of the whole machine. False where this user may not.
bool drop_metadata() {
  const io::File control(::open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC), "/proc/sys/vm/drop_caches");
  return control && ::write(control.fd(), "2", 1) == 1;
}

/// Brings contents and metadata into the state asked for. What was opened for that is in memory by then.
MetadataCache prepare(const ReadOptions& options, Context& context) {
  if (options.cache == CacheRequest::any) return MetadataCache::as_found;
  std::vector<InputFile> files;
  for (const std::string& path : walk_folders(options.paths, context).files) {
    files.push_back({path, io::File::open_read(path).size(), false, 1});
  }
  if (!files.empty()) prepare_cache(files, options.cache, {}, context);
  if (options.cache == CacheRequest::warm) return MetadataCache::warm;
  if (drop_metadata()) return MetadataCache::cold;
  context.warn("metadata_not_cold",
               "contents are cold, but names and attributes are in memory: only root may drop those "
               "(/proc/sys/vm/drop_caches)");
  return MetadataCache::warm;
}

FolderListing list(const ReadOptions& options, Context& context) {
  context.progress().start("listing folders");
  FolderListing listing = walk_folders(options.paths, context);
  if (listing.files.empty()) {
    throw Error(ErrorCode::not_found, fmt::format("folder '{}' holds no files to read", options.paths.front()),
                options.paths.front());
  }
  return listing;
}

FolderOperation operation(std::string name, const stats::LatencyHistogram& latency, std::uint64_t threads, double all) {
  const double total = latency.total();
  const auto count = static_cast<double>(latency.count());
  return {std::move(name),       latency.count(),        total > 0 ? count * static_cast<double>(threads) / total : 0,
          latency.quantile(0.5), latency.quantile(0.99), all > 0 ? total / all : 0};
}

FolderReport report_of(const FolderListing& listing, const FolderTally& tally, std::uint64_t threads, double seconds) {
  FolderReport report;
  report.folders = listing.latency.count();
  report.files = listing.files.size();
  report.list_seconds = listing.latency.total();
  report.files_per_second = static_cast<double>(tally.close.count()) / seconds;
  const double metadata = tally.open.total() + tally.stat.total() + tally.close.total();
  const double all = metadata + tally.read.total();
  const auto calls = static_cast<double>(tally.open.count() + tally.stat.count() + tally.close.count());
  if (metadata > 0) report.metadata_operations_per_second = calls * static_cast<double>(threads) / metadata;
  if (report.files_per_second > 0) {
    report.epoch_seconds = static_cast<double>(report.files) / report.files_per_second;
  }
  report.epoch_hours = report.epoch_seconds / 3600;
  report.operations = {operation("list", listing.latency, 1, 0), operation("open", tally.open, threads, all),
                       operation("stat", tally.stat, threads, all), operation("read", tally.read, threads, all),
                       operation("close", tally.close, threads, all)};
  return report;
}

void add_totals(const FolderTally& tally, const Timing& timing, ReadResult& result) {
  result.bytes = tally.bytes;
  result.samples = tally.close.count();
  result.operations = tally.read.count();
  result.kernel_reads = tally.kernel_reads;
  result.read_seconds = timing.seconds;
  result.cpu_seconds = timing.cpu_seconds;
  result.bytes_per_second = static_cast<double>(tally.bytes) / timing.seconds;
  result.bytes_per_second_interval = rate_interval(timing, result.bytes_per_second);
  result.steady = is_steady(timing);
  result.samples_per_second = static_cast<double>(*result.samples) / timing.seconds;
  result.mean_sample =
      *result.samples > 0 ? static_cast<double>(tally.bytes) / static_cast<double>(*result.samples) : 0;
  result.latency = tally.whole.quantiles();
  result.latency_histogram = latency_steps(tally.whole);
  if (tally.asked_bytes > 0 && !tally.residency_unknown) {
    result.cache.residency_before_ratio =
        static_cast<double>(tally.cached_bytes) / static_cast<double>(tally.asked_bytes);
  }
}

void hint_at_others(const std::vector<std::string>& files, ReadResult& result) {
  const auto is_other = [](const std::string& path) {
    return !catalog::is_image_name(path.substr(path.rfind('/') + 1));
  };
  const auto others = std::ranges::count_if(files, is_other);
  if (others == 0) return;
  result.hints.push_back(
      fmt::format("of {} {} by name no image and counted all the same, though ImageFolder passes it over; one is '{}'",
                  format_count(files.size(), "file"), others == 1 ? std::string("1 is") : fmt::format("{} are", others),
                  *std::ranges::find_if(files, is_other)));
}

void add_hints(const ReadOptions& options, ReadResult& result) {
  const FolderReport& report = *result.imagefolder;
  if (*result.samples < report.files) {
    result.hints.push_back(fmt::format("{} of {} were read; the epoch is at their rate", format_count(*result.samples),
                                       format_count(report.files, "file")));
  }
  if (options.cache == CacheRequest::any) {
    result.hints.emplace_back(
        "names and attributes were taken from memory where they happened to be there: a second "
        "run is faster; --cache cold as root measures the first");
  }
  if (result.cache.state == CacheState::client_cold) {
    result.hints.emplace_back("cold is true of this machine only: the server may still have had the data in memory");
  }
}

}  // namespace

ReadResult read_folders(const ReadOptions& options, Context& context) {
  check_folders(options.paths);
  ReadResult result;
  result.mode = options.mode;
  result.engine = "pread";
  result.threads = threads_of(options);
  result.depth = 1;
  result.block = FolderWork::kBlock;
  result.storage = system::storage_of(options.paths.front());
  result.cache.requested = options.cache;
  const MetadataCache metadata = prepare(options, context);
  FolderListing listing = list(options, context);
  hint_at_others(listing.files, result);
  Prng prng(options.seed);
  shuffle(std::span(listing.files), prng);
  FolderWork work(listing.files, options, context);
  const auto before = system::read_disk_counters(result.storage.device);
  context.progress().start("reading", listing.files.size());
  std::vector<FolderTally> tallies(result.threads);
  const Timing timing = timed_run(
      static_cast<unsigned>(result.threads),
      [&](unsigned thread, const std::stop_token& stop) { work.run(tallies[thread], stop); }, context.progress().bytes,
      context.stop_token());
  context.throw_if_stopped();
  FolderTally all;
  for (const FolderTally& tally : tallies) all.merge(tally);
  add_totals(all, timing, result);
  result.files = listing.files.size();
  ReadMeasurement device;
  device.add(timing, {});
  device.add_device(before, system::read_disk_counters(result.storage.device));
  result.device = device.device();
  result.cache.state = cache_state(result.cache, result.storage.storage_class);
  result.imagefolder = report_of(listing, all, result.threads, timing.seconds);
  result.imagefolder->metadata_cache = metadata;
  add_hints(options, result);
  return result;
}

}  // namespace shardkit::bench
