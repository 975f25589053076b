#include "bench/checkpoint/checkpoint_copies.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include <fmt/format.h>

#include "bench/checkpoint/checkpoint_bytes.hpp"
#include "core/error.hpp"
#include "io/aligned_buffer.hpp"
#include "io/file.hpp"
#include "io/page_cache.hpp"
#include "io/raw_writer.hpp"
#include "sync/task_group.hpp"

namespace shardkit {
namespace {

using Clock = std::chrono::steady_clock;

/// Called with each block of a rank's file in turn.
using TakeBlock = std::function<void(std::uint64_t rank, std::uint64_t offset, Bytes block)>;

void read_rank(const WrittenCheckpoint& checkpoint, std::uint64_t rank, const TakeBlock& take, Context& context,
               const std::stop_token& stop) {
  const File file = File::open_read(checkpoint.folder.whole(rank));
  AlignedBuffer buffer;
  const std::uint64_t end = checkpoint.rank_bytes[rank];
  for (std::uint64_t offset = 0; offset < end;) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped while reading a checkpoint");
    const MutableBytes block = buffer.get(std::min(checkpoint.block, end - offset));
    const std::size_t got = file.read_at(offset, block);
    if (got < block.size()) {
      throw Error(ErrorCode::corrupt, fmt::format("'{}' ends at byte {} of {}", file.path(), offset + got, end),
                  file.path(), offset + got);
    }
    take(rank, offset, block);
    offset += block.size();
    context.progress().bytes.fetch_add(block.size(), std::memory_order_relaxed);
  }
}

/// Every rank in a thread of its own; returns the seconds until the last was done.
double for_each_rank(std::size_t ranks, Context& context,
                     const std::function<void(std::uint64_t rank, const std::stop_token& stop)>& work) {
  const Clock::time_point begin = Clock::now();
  TaskGroup group(context.stop_token());
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    group.spawn([&work, rank](const std::stop_token& stop) { work(rank, stop); });
  }
  group.wait();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void compare(const WrittenCheckpoint& checkpoint, std::uint64_t rank, std::uint64_t offset, Bytes found, Bytes wanted) {
  if (std::memcmp(found.data(), wanted.data(), found.size()) == 0) return;
  const auto wrong = static_cast<std::uint64_t>(std::ranges::mismatch(found, wanted).in1 - found.begin());
  const std::string path = checkpoint.folder.whole(rank);
  throw Error(
      ErrorCode::corrupt,
      fmt::format("'{}' came back with other bytes than were written, from byte {} on: this storage loses data; "
                  "look at the kernel's log and the disk's health",
                  path, offset + wrong),
      path, offset + wrong);
}

/// Empties the page cache of the checkpoint; false where that cannot be had.
bool drop_from_cache(const WrittenCheckpoint& checkpoint) {
  try {
    for (std::uint64_t rank = 0; rank < checkpoint.rank_bytes.size(); ++rank) {
      drop_from_cache(File::open_read(checkpoint.folder.whole(rank)));
    }
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return false;
  }
}

}  // namespace

double drain_checkpoint(const WrittenCheckpoint& from, CheckpointFolder& to, bool direct, Context& context) {
  const Clock::time_point begin = Clock::now();
  for_each_rank(from.rank_bytes.size(), context, [&](std::uint64_t rank, const std::stop_token& stop) {
    RawWriter writer(to.partial(rank), direct);
    const TakeBlock write = [&](std::uint64_t, std::uint64_t offset, Bytes block) { writer.write_at(offset, block); };
    read_rank(from, rank, write, context, stop);
    writer.sync();
  });
  to.publish(from.rank_bytes.size());
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

ReadBack read_back_checkpoint(const WrittenCheckpoint& checkpoint, Context& context) {
  ReadBack result;
  result.cache_state = drop_from_cache(checkpoint) ? "cold" : "unknown";
  std::vector<CheckpointBytes> wanted;
  for (std::uint64_t rank = 0; rank < checkpoint.rank_bytes.size(); ++rank) {
    wanted.emplace_back(rank, checkpoint.turn, std::min(checkpoint.block, checkpoint.rank_bytes[rank]));
  }
  const TakeBlock check = [&](std::uint64_t rank, std::uint64_t offset, Bytes block) {
    compare(checkpoint, rank, offset, block, wanted[rank].at(offset, block.size()));
  };
  result.seconds = for_each_rank(
      checkpoint.rank_bytes.size(), context,
      [&](std::uint64_t rank, const std::stop_token& stop) { read_rank(checkpoint, rank, check, context, stop); });
  return result;
}

}  // namespace shardkit
