#include "bench/read/folder_work.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/aligned_buffer.hpp"
#include "io/page_cache.hpp"

namespace shardkit {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Residency is asked of one file in so many: it costs a call that loaders do not make. It is not timed.
constexpr std::uint64_t kAskOneIn = 16;

}  // namespace

void FolderTally::merge(const FolderTally& other) {
  open.merge(other.open);
  stat.merge(other.stat);
  read.merge(other.read);
  close.merge(other.close);
  whole.merge(other.whole);
  bytes += other.bytes;
  kernel_reads += other.kernel_reads;
  asked_bytes += other.asked_bytes;
  cached_bytes += other.cached_bytes;
  residency_unknown = residency_unknown || other.residency_unknown;
}

FolderWork::FolderWork(const std::vector<std::string>& files, const ReadOptions& options, Context& context)
    : files_(files), most_(options.samples.value_or(files.size())), context_(context) {
  most_ = std::min<std::uint64_t>(most_, files.size());
  if (options.budget) deadline_ = moment_in(*options.budget);
}

void FolderWork::run(FolderTally& tally, const std::stop_token& stop) {
  AlignedBuffer buffer;
  while (!stop.stop_requested() && !(deadline_ && SteadyClock::now() >= *deadline_)) {
    const std::uint64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= most_) return;
    read_file(index, buffer.get(kBlock), tally);
    context_.progress().items.fetch_add(1, std::memory_order_relaxed);
  }
}

void FolderWork::read_file(std::uint64_t index, MutableBytes buffer, FolderTally& tally) {
  const std::string& path = files_[index];
  const auto begin = SteadyClock::now();
  File file = File::open_read(path);
  const auto opened = SteadyClock::now();
  const std::uint64_t size = file.size();
  const auto stated = SteadyClock::now();
  if (index % kAskOneIn == 0) {
    const auto cached = cached_bytes(file);
    tally.residency_unknown = tally.residency_unknown || !cached;
    tally.cached_bytes += cached.value_or(0);
    tally.asked_bytes += size;
  }
  const auto asked = SteadyClock::now();
  std::uint64_t done = 0;
  for (std::size_t got = 1; done < size && got > 0; done += got) {
    got = file.read_at(done, buffer.first(std::min<std::uint64_t>(buffer.size(), size - done)));
    ++tally.kernel_reads;
    context_.progress().bytes.fetch_add(got, std::memory_order_relaxed);
  }
  const auto read = SteadyClock::now();
  if (done < size) {
    throw Error(ErrorCode::io, fmt::format("'{}' ends at byte {} of {}: it changes while it is read", path, done, size),
                path, done);
  }
  file = File();
  const auto closed = SteadyClock::now();
  tally.open.record(opened - begin);
  tally.stat.record(stated - opened);
  tally.read.record(read - asked);
  tally.close.record(closed - read);
  tally.whole.record((stated - begin) + (closed - asked));
  tally.bytes += done;
}

}  // namespace shardkit
