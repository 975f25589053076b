#include "dataset/cache/cache_warm.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "dataset/cache/cache.hpp"
#include "io/page_cache.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

constexpr unsigned kFewestDiskReaders = 4;  // one stream does not keep an NVMe disk busy
constexpr unsigned kMostReaders = 32;       // by default
constexpr double kWarm = 0.99;

/// A file to have in memory, and how much of it is there before.
struct WarmFile {
  CacheFile file;
  Residency before;
};

/// The files that fit in the budget, in their order.
std::vector<WarmFile> choose(std::vector<CacheFile> files, std::uint64_t budget) {
  std::vector<WarmFile> chosen;
  for (CacheFile& file : files) {
    const Residency before = residency_of(file);
    if (before.bytes > budget) break;
    budget -= before.bytes;
    chosen.push_back({std::move(file), before});
  }
  return chosen;
}

bool is_warm(const Residency& residency) { return residency.known && residency.cached >= residency.bytes; }

/// Reads the part that is not in memory; returns the bytes read.
std::uint64_t read_all(const std::vector<WarmFile>& files, unsigned threads, Context& context) {
  std::atomic<std::uint64_t> bytes{0};
  const std::stop_token& stop = context.stop_token();
  sync::for_each_index(files.size(), threads, stop, [&](std::size_t at, std::size_t) {
    const auto& [file, before] = files[at];
    if (!is_warm(before) && before.bytes > 0) {
      const io::File open = io::File::open_regular(file.path());
      io::warm_cache(open, [&] { return !stop.stop_requested(); });
      bytes += before.bytes;
    }
    context.progress().bytes += before.bytes;
    ++context.progress().items;
  });
  return bytes;
}

void warn_of_little_memory(const std::vector<WarmFile>& files, std::uint64_t chosen_bytes, Context& context) {
  Residency after;
  for (const WarmFile& item : files) after += residency_of(item.file);
  const auto reached = after.ratio();
  if (!reached || *reached >= kWarm) return;
  context.warn("memory_too_small",
               "of {} read, only {:.0f} % is in memory: the rest was evicted again; give a "
               "smaller --memory, or more memory to this container",
               format_size(chosen_bytes), *reached * 100);
}

}  // namespace

CacheWarmResult cache_warm(const CacheWarmOptions& options, Context& context) {
  auto folders = cache_folders(options.folder, context);
  std::ranges::stable_sort(folders, std::ranges::greater(), &staging::StagedFolder::last_used);
  for (const staging::StagedFolder& folder : folders) {
    if (folder.state != staging::StagedState::unreadable) continue;
    context.warn("unreadable", "'{}' was skipped: {}", folder.path, folder.fault);
  }
  const std::vector<CacheFile> all = cache_files(folders);
  CacheWarmResult result;
  result.budget_bytes = options.memory.value_or(system::usable_memory() / 2);
  const Residency before = residency_of(all, context);
  result.files = all.size();
  result.bytes = before.bytes;
  result.residency_before_ratio = before.ratio();
  const std::vector<WarmFile> chosen = choose(all, result.budget_bytes);
  result.files_warmed = chosen.size();
  for (const WarmFile& item : chosen) result.bytes_warmed += item.before.bytes;
  context.progress().start("warm", chosen.size(), result.bytes_warmed);
  const auto start = std::chrono::steady_clock::now();
  result.bytes_read = read_all(chosen, std::clamp(system::usable_threads(), kFewestDiskReaders, kMostReaders), context);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result.seconds = elapsed.count();
  result.bytes_per_second = static_cast<double>(result.bytes_read) / elapsed.count();
  result.residency_after_ratio = residency_of(all, context).ratio();
  warn_of_little_memory(chosen, result.bytes_warmed, context);
  if (chosen.size() < all.size()) {
    context.warn("budget_reached", "{} of {} fit into the budget of {}; set another one with --memory",
                 format_size(result.bytes_warmed), format_size(result.bytes),
                 options.memory ? typed_size(*options.memory) : format_size(result.budget_bytes));
  }
  return result;
}

void CacheWarmOptions::describe(FieldList& v) {
  v.field({"DIR", "a node cache, or one staged folder", Role::positional}, folder);
  v.field(
      {"memory", Unit::bytes, "maximum bytes in the page cache; default: half of the memory available to the process"},
      memory);
}

void CacheWarmResult::describe(FieldList& v) {
  v.field({"files", Unit::count, "files of all staged folders"}, files);
  v.field({"bytes", Unit::bytes, "bytes of these files"}, bytes);
  v.field({"budget_bytes", Unit::bytes, "maximum bytes for the page cache"}, budget_bytes);
  v.field({"files_warmed", Unit::count, "files that fit in the budget"}, files_warmed);
  v.field({"bytes_warmed", Unit::bytes, "bytes of these files"}, bytes_warmed);
  v.field({"bytes_read", Unit::bytes, "bytes read, because they were not all in the page cache"}, bytes_read);
  v.field({"seconds", Unit::seconds, "time for reading"}, seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "rate of reading"}, bytes_per_second);
  v.field({"residency_before_ratio", Unit::ratio, "share of all bytes in the page cache before; null: unknown"},
          residency_before_ratio);
  v.field({"residency_after_ratio", Unit::ratio, "share of all bytes in the page cache afterwards"},
          residency_after_ratio);
}

}  // namespace shardkit::dataset
