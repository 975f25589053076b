#include "bench/machine/cache_state.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "bench/timing/timed_run.hpp"
#include "io/page_cache.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

constexpr std::size_t kMostFilesToAsk = 2000;
constexpr std::size_t kAskingThreads = 8;  // that ask, for files on a network
constexpr double kCold = 0.01;
constexpr double kWarm = 0.99;

/// Files taken evenly, few enough to ask each. Any first part of them is spread over all as well.
std::vector<const InputFile*> some_of(std::span<const InputFile> files) {
  const std::size_t asked = std::min(files.size(), kMostFilesToAsk);
  std::vector<const InputFile*> some;
  for (const std::size_t i : spread_order(asked)) some.push_back(&files[i * files.size() / asked]);
  return some;
}

std::size_t drop(std::span<const InputFile> files, const Deadline& deadline, Context& context) {
  context.progress().start("dropping caches", files.size());
  const auto work = [&](std::size_t i) {
    const io::File file = io::File::open_read(files[i].path);
    try {
      io::drop_from_cache(file);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unsupported) throw NotCold(error);
      throw;
    }
    context.progress().items.fetch_add(1, std::memory_order_relaxed);
  };
  return for_each_file(files.size(), context, work, deadline);
}

/// The time for reading one file: on a busy machine a small share of a short budget is not enough for it.
constexpr double kLeastForOne = 1;

Deadline deadline_in(const std::optional<double>& seconds) {
  return seconds ? Deadline(moment_in(*seconds)) : Deadline();
}

std::size_t warm(std::span<const InputFile> files, const std::optional<double>& seconds, Context& context) {
  context.progress().start("warming caches", files.size());
  const Deadline deadline = deadline_in(seconds);
  const Deadline of_first = seconds ? deadline_in(std::max(*seconds, kLeastForOne)) : deadline;
  std::mutex mutex;
  std::size_t first_cut = files.size();
  const auto work = [&](std::size_t i) {
    const auto go_on = [&] { return !context.stop_token().stop_requested() && !is_over(i == 0 ? of_first : deadline); };
    const bool whole = io::warm_cache(io::File::open_read(files[i].path), go_on);
    context.progress().items.fetch_add(1, std::memory_order_relaxed);
    const std::scoped_lock lock(mutex);
    if (!whole) first_cut = std::min(first_cut, i);
  };
  const std::size_t done = for_each_file(files.size(), context, work, deadline);
  return std::min(done, first_cut);
}

[[noreturn]] void refuse_warm(const std::string& why, ErrorCode code = ErrorCode::unsupported) {
  throw Error(code, "--cache warm is not available: " + why);
}

void check_fits_memory(std::span<const InputFile> files) {
  std::uint64_t bytes = 0;
  for (const InputFile& file : files) bytes += file.bytes;
  if (bytes <= system::usable_memory()) return;
  refuse_warm(fmt::format("{} of data do not fit into the available {} of memory; choose fewer files",
                          format_size(bytes), format_size(system::usable_memory())),
              ErrorCode::no_space);
}

/// Reads pages again that the kernel evicted meanwhile: some kernels reclaim idle pages before memory is low. Each time
/// takes `seconds` at most.
void keep_warm(std::span<const InputFile> files, const std::optional<double>& seconds, Context& context) {
  constexpr int kMostReadings = 3;
  if (files.empty()) refuse_warm("the time limit is too short to read one file; use a longer --budget");
  for (int readings = 1;; ++readings) {
    const auto reached = residency(files);
    if (!reached || *reached >= kWarm) return;
    if (readings < kMostReadings && warm(files, seconds, context) < files.size()) {
      refuse_warm("the time limit is too short to read again what was evicted from memory; use a longer --budget");
    }
    if (readings == kMostReadings) {
      refuse_warm(
          fmt::format("after reading everything {:.1f} % is in memory, {:.0f} % is required; choose fewer files or "
                      "raise the memory limit",
                      *reached * 100, kWarm * 100));
    }
  }
}

std::string untouched_text(const std::string& path, std::uint64_t bytes) {
  return fmt::format("'{}' has {} that were never written, so reading them does not use a disk; use real data", path,
                     format_size(bytes));
}

std::string compressed_text(const std::string& path) {
  return fmt::format("'{}' is stored compressed, so its disk reads fewer bytes than are counted", path);
}

}  // namespace

NotCold::NotCold(const Error& reason)
    : Error(reason.code(), At{reason.path()}, "{}; use --cache any or --cache warm", reason.what()),
      reason_(reason.what()) {}

double asking_seconds(std::optional<double> limit, double share) {
  return limit ? std::min(kMostAskingSeconds, share * *limit) : kMostAskingSeconds;
}

std::optional<double> residency(std::span<const InputFile> files, double seconds) {
  if (has_objects(files)) return std::nullopt;
  const auto some = some_of(files);
  std::atomic<std::uint64_t> cached{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<bool> known{true};
  const Deadline deadline = moment_in(seconds);
  sync::for_each_index(some.size(), kAskingThreads, {}, [&](std::size_t i, std::size_t) {
    if (!known || (bytes > 0 && is_over(deadline))) return;
    const io::File file = io::File::open_read(some[i]->path);
    const auto in_cache = io::cached_bytes(file);
    if (!in_cache) known = false;
    cached += in_cache.value_or(0);
    bytes += file.size();
  });
  if (!known || bytes == 0) return std::nullopt;
  return static_cast<double>(cached) / static_cast<double>(bytes);
}

std::size_t prepare_cache(std::span<const InputFile> files, CacheRequest request, std::optional<double> seconds,
                          Context& context) {
  if (request == CacheRequest::any) return files.size();
  if (has_objects(files)) {
    throw usage_error(
        "--cache is only for files: data at a URL is not in this machine's page cache. Leave it out, or copy "
        "the data here with `shardctl stage`");
  }
  if (request == CacheRequest::cold) return drop(files, deadline_in(seconds), context);
  check_fits_memory(files);
  const std::size_t prepared = warm(files, seconds, context);
  keep_warm(files.first(prepared), seconds, context);
  return prepared;
}

InputSet preparable(const InputSet& input, CacheRequest request, double seconds, Context& context) {
  InputSet part{{}, 0, input.operands, input.inputs};
  const std::size_t ready = prepare_cache(input.files, request, seconds, context);
  for (const InputFile& file : std::span(input.files).first(ready)) {
    part.files.push_back(file);
    part.bytes += file.bytes;
  }
  return part;
}

CacheState cache_state(const CacheReport& report, system::StorageClass storage_class) {
  const auto ratio = report.residency_before_ratio;
  if (!ratio) return report.requested == CacheRequest::warm ? CacheState::warm : CacheState::unknown;
  if (*ratio >= kWarm) return CacheState::warm;
  if (*ratio > kCold) return CacheState::mixed;
  return system::has_remote_cache(storage_class) ? CacheState::client_cold : CacheState::cold;
}

std::string cold_elsewhere(CacheState state, system::StorageClass storage_class) {
  if (state != CacheState::cold && state != CacheState::client_cold && state != CacheState::direct) return {};
  const auto text = [](std::string_view owner) {
    return fmt::format("cold applies only to this machine: {} may still have the data in memory", owner);
  };
  if (storage_class == system::StorageClass::network) return text("the server");
  if (storage_class == system::StorageClass::fuse) return text("the FUSE process, or the store behind it,");
  if (storage_class == system::StorageClass::virtual_disk) return text("the host of this virtual disk");
  return {};
}

DataOnDisk check_on_disk(std::span<const InputFile> files, DiskUse use, Context& context, double seconds) {
  if (has_objects(files)) return {};
  const auto some = some_of(files);
  std::mutex mutex;
  io::FileExtents all;
  std::string sparse;
  std::string compressed;
  const auto ask = [&](std::size_t i) {
    const io::FileExtents found = io::file_extents(io::File::open_read(some[i]->path));
    const std::scoped_lock lock(mutex);
    all += found;
    if (found.sparse() > 0) sparse = untouched_text(some[i]->path, found.sparse());
    if (found.compressed > 0) compressed = compressed_text(some[i]->path);
  };
  const std::size_t asked = for_each_file(some.size(), context, ask, moment_in(seconds));
  if (!sparse.empty() && use != DiskUse::any) throw Error(ErrorCode::unsupported, sparse);
  if (!sparse.empty()) context.warn("sparse_file", sparse);
  if (!compressed.empty() && use == DiskUse::direct) {
    throw Error(ErrorCode::unsupported, compressed + "; with O_DIRECT it is still read through the page cache");
  }
  if (!compressed.empty()) context.warn("compressed_file", compressed);
  return {asked, all.holes, all.unwritten, all.compressed};
}

void DataOnDisk::describe(FieldList& v) {
  v.field({"files_asked", Unit::count, "files that were checked, at most 2000, evenly distributed"}, files_asked);
  v.field({"hole_bytes", Unit::bytes, "bytes in holes, which are on no disk"}, hole_bytes);
  v.field({"unwritten_bytes", Unit::bytes, "bytes that were allocated but never written, which are not read from disk"},
          unwritten_bytes);
  v.field({"compressed_bytes", Unit::bytes, "bytes stored in another form, so that the disk reads fewer"},
          compressed_bytes);
}

}  // namespace shardkit::bench
