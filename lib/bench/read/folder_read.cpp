#include <algorithm>
#include <chrono>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/read/read_options.hpp"
#include "bench/read/read_work.hpp"
#include "bench/timing/second_watch.hpp"
#include "catalog/image_folder.hpp"
#include "core/error.hpp"
#include "core/prng.hpp"
#include "io/page_cache.hpp"

namespace shardkit::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kFileBlock = 256U << 10U;  // bytes per read
/// Residency is checked for one file in so many: it needs a call that loaders do not make. It is not timed.
constexpr std::uint64_t kAskOneIn = 16;

/// Calls of one thread, or of all; the latency is that of all four of a file.
struct FileCalls : ReadTally {
  stats::LatencyHistogram open, stat, read, close;
  /// Of the files whose share in the page cache was measured, after opening and before reading.
  std::uint64_t asked_bytes = 0;
  std::uint64_t cached_bytes = 0;  ///< cached bytes of these
  bool residency_unknown = false;

  void merge(const FileCalls& other) {
    ReadTally::merge(other);
    open.merge(other.open);
    stat.merge(other.stat);
    read.merge(other.read);
    close.merge(other.close);
    asked_bytes += other.asked_bytes;
    cached_bytes += other.cached_bytes;
    residency_unknown = residency_unknown || other.residency_unknown;
  }
};

/// Opens, stats, reads and closes a file; in between, with `asks_residency`, looks how much of it is cached.
void call_file(const std::string& path, bool asks_residency, MutableBytes buffer, FileCalls& calls,
               Progress& progress) {
  const auto begin = Clock::now();
  io::File file = io::File::open_read(path);
  const auto opened = Clock::now();
  const std::uint64_t size = file.size();
  const auto stated = Clock::now();
  if (asks_residency) {
    const auto cached = io::cached_bytes(file);
    calls.residency_unknown = calls.residency_unknown || !cached;
    calls.cached_bytes += cached.value_or(0);
    calls.asked_bytes += size;
  }
  const auto asked = Clock::now();
  std::uint64_t done = 0;
  for (std::size_t got = 1; done < size && got > 0; done += got) {
    got = file.read_at(done, buffer.first(std::min<std::uint64_t>(buffer.size(), size - done)));
    ++calls.kernel_reads;
    progress.bytes.fetch_add(got, std::memory_order_relaxed);
  }
  const auto read = Clock::now();
  if (done < size) {
    throw Error(ErrorCode::io, fmt::format("'{}' ends at byte {} of {}: it changed while being read", path, done, size),
                path, done);
  }
  file = io::File();
  const auto closed = Clock::now();
  calls.open.record(opened - begin);
  calls.stat.record(stated - opened);
  calls.read.record(read - asked);
  calls.close.record(closed - read);
  calls.latency.record((stated - begin) + (closed - asked));
  calls.bytes += done;
}

/// Opens, stats, reads and closes the first `most` files on `threads` threads, for at most `seconds`; empty: all of
/// them, without limit. Adds the times to `calls`. Throws Error{cancelled} on a stop before the first file was read.
Timing time_file_calls(const std::vector<std::string>& files, std::uint64_t threads, std::optional<std::uint64_t> most,
                       std::optional<double> seconds, FileCalls& calls, Context& context) {
  Turns turns(std::min<std::uint64_t>(most.value_or(files.size()), files.size()), {seconds, 0});
  std::vector<FileCalls> of_threads(threads);
  const auto work = [&](unsigned thread, const std::stop_token& stop) {
    turns.begin();
    io::AlignedBuffer buffer;
    while (!stop.stop_requested()) {
      const auto turn = turns.next();
      if (!turn) return;
      call_file(files[*turn], *turn % kAskOneIn == 0, buffer.get(kFileBlock), of_threads[thread], context.progress());
      context.progress().items.fetch_add(1, std::memory_order_relaxed);
    }
  };
  const Timing timing = timed_run(static_cast<unsigned>(threads), work, context.progress().bytes, context.stop_token());
  for (const FileCalls& some : of_threads) calls.merge(some);
  if (calls.close.count() == 0) context.throw_if_stopped();
  return timing;
}

void check_folders(const std::vector<std::string>& paths) {
  if (paths.empty()) throw usage_error("nothing to read: no PATH was given");
  for (const std::string& path : paths) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) throw system_error(errno, "list", path);
    if (S_ISDIR(info.st_mode)) continue;
    throw Error(ErrorCode::usage, At{path}, "'{}' is not a folder; --mode imagefolder lists folders", path);
  }
}

/// Empties the kernel's caches of names and attributes, for the whole machine. False if this user may not.
bool drop_metadata() {
  const io::File control(::open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC), "/proc/sys/vm/drop_caches");
  return control && ::write(control.fd(), "2", 1) == 1;
}

/// Brings contents and metadata into the requested state. Files opened for that are then in memory.
MetadataCache prepare(const ReadOptions& options, Context& context) {
  if (options.cache == CacheRequest::any) return MetadataCache::as_found;
  std::vector<InputFile> files;
  for (const std::string& path : walk_folders(options.paths, context).files) {
    files.push_back({path, io::File::open_read(path).size(), false, 1});
  }
  if (!files.empty()) prepare_cache(files, options.cache, {}, context);
  if (options.cache == CacheRequest::warm) return MetadataCache::warm;
  if (drop_metadata()) return MetadataCache::cold;
  context.warn(
      "metadata_not_cold",
      "contents are cold, but names and attributes are in memory: only root can drop those (/proc/sys/vm/drop_caches)");
  return MetadataCache::warm;
}

FolderListing list(const ReadOptions& options, Context& context) {
  context.progress().start("listing folders");
  FolderListing listing = walk_folders(options.paths, context);
  if (listing.files.empty()) {
    throw Error(ErrorCode::not_found, At{options.paths.front()}, "folder '{}' contains no files to read",
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

FolderReport report_of(const FolderListing& listing, const FileCalls& calls, std::uint64_t threads, double seconds) {
  FolderReport report;
  report.folders = listing.latency.count();
  report.files = listing.files.size();
  report.list_seconds = listing.latency.total();
  report.files_per_second = static_cast<double>(calls.close.count()) / seconds;
  const double metadata = calls.open.total() + calls.stat.total() + calls.close.total();
  const double all = metadata + calls.read.total();
  const auto made = static_cast<double>(calls.open.count() + calls.stat.count() + calls.close.count());
  if (metadata > 0) report.metadata_operations_per_second = made * static_cast<double>(threads) / metadata;
  if (report.files_per_second > 0) {
    report.epoch_seconds = static_cast<double>(report.files) / report.files_per_second;
  }
  report.epoch_hours = report.epoch_seconds / 3600;
  report.operations = {operation("list", listing.latency, 1, 0), operation("open", calls.open, threads, all),
                       operation("stat", calls.stat, threads, all), operation("read", calls.read, threads, all),
                       operation("close", calls.close, threads, all)};
  return report;
}

void add_rates(const FileCalls& calls, const Timing& timing, ReadResult& result) {
  const auto samples = static_cast<double>(calls.close.count());
  const auto bytes = static_cast<double>(calls.bytes);
  result.samples = calls.close.count();
  result.bytes_per_second = bytes / timing.seconds;
  result.bytes_per_second_interval = rate_interval(timing, result.bytes_per_second);
  result.steady = is_steady(timing);
  result.samples_per_second = samples / timing.seconds;
  result.mean_sample = samples > 0 ? bytes / samples : 0;
  if (calls.asked_bytes > 0 && !calls.residency_unknown) {
    result.cache.residency_before_ratio =
        static_cast<double>(calls.cached_bytes) / static_cast<double>(calls.asked_bytes);
  }
}

void hint_at_others(const std::vector<std::string>& files, ReadResult& result) {
  const auto is_other = [](const std::string& path) { return !catalog::is_image_name(file_name(path)); };
  const auto others = std::ranges::count_if(files, is_other);
  if (others == 0) return;
  result.hints.push_back(
      fmt::format("of {}, {} not an image by name but counted, although ImageFolder skips such files; one is '{}'",
                  format_count(files.size(), "file"), others == 1 ? std::string("1 is") : fmt::format("{} are", others),
                  *std::ranges::find_if(files, is_other)));
}

void add_hints(const ReadOptions& options, ReadResult& result) {
  const FolderReport& report = *result.imagefolder;
  if (*result.samples < report.files) {
    result.hints.push_back(fmt::format("only {} of {} were read; the epoch is calculated from their rate",
                                       format_count(*result.samples), format_count(report.files, "file")));
  }
  if (options.cache == CacheRequest::any) {
    result.hints.emplace_back(
        "some names and attributes were in memory: a second run is faster; to measure the first, use --cache cold as "
        "root");
  }
  const std::string elsewhere = cold_elsewhere(result.cache.state, result.storage.storage_class);
  if (!elsewhere.empty()) result.hints.push_back(elsewhere);
}

}  // namespace

ReadResult read_folders(const ReadOptions& options, Context& context) {
  check_folders(options.paths);
  ReadResult result;
  result.mode = options.mode;
  result.engine = enum_name(io::EngineKind::pread);
  result.threads = threads_of(options);
  result.depth = 1;
  result.block = kFileBlock;
  result.storage = system::storage_of(options.paths.front());
  result.cache.requested = options.cache;
  const MetadataCache metadata = prepare(options, context);
  FolderListing listing = list(options, context);
  hint_at_others(listing.files, result);
  Prng prng(kSeed);
  shuffle(std::span(listing.files), prng);
  const auto before = system::look_at_disk(result.storage.device);
  context.progress().start(phase::kReading, listing.files.size(), 0, "files");
  context.progress().budget_seconds = options.budget.value_or(0);
  FileCalls calls;
  NeighborWatch watch(result.storage);
  const Timing timing = time_file_calls(listing.files, result.threads, options.samples, options.budget, calls, context);
  result.neighbors = watch.so_far();
  result.interrupted = context.stop_token().stop_requested();
  ReadMeasurement measured;
  measured.add(timing, {static_cast<const ReadTally&>(calls)},
               system::disk_growth(before, system::look_at_disk(result.storage.device)));
  measured.add_totals(result);
  add_rates(calls, timing, result);
  result.files = listing.files.size();
  result.cache.state = cache_state(result.cache, result.storage.storage_class);
  result.imagefolder = report_of(listing, calls, result.threads, timing.seconds);
  result.imagefolder->metadata_cache = metadata;
  add_hints(options, result);
  return result;
}

}  // namespace shardkit::bench
