#include "bench/checkpoint/checkpoint_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.hpp"
#include "gpu/pattern.hpp"
#include "io/file.hpp"
#include "io/page_cache.hpp"
#include "io/publish.hpp"
#include "sync/task_group.hpp"

namespace shardkit::bench {
namespace {

constexpr std::string_view kPrefix = ".shardkit-checkpoint-";

std::string checked(const std::string& parent) {
  std::error_code error;
  if (std::filesystem::is_directory(parent, error)) return parent;
  if (error && error != std::errc::no_such_file_or_directory) throw system_error(error.value(), "look at", parent);
  throw Error(ErrorCode::not_found, At{parent}, "'{}' is not a folder; create it on the disk to measure", parent);
}

using Clock = std::chrono::steady_clock;

[[noreturn]] void refuse_direct(const std::string& path, const char* why) {
  throw Error(ErrorCode::unsupported, At{path}, "'{}' cannot be written with O_DIRECT: {}", path, why);
}

io::File create_new(const std::string& path, bool direct) {
  io::File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | (direct ? O_DIRECT : 0), 0666), path);
  if (!file && direct && errno == EINVAL) refuse_direct(path, "its file system does not support it");
  if (!file) throw system_error(errno, "create", path);
  if (direct && io::lives_in_memory(file))
    refuse_direct(path, "its file system keeps files in memory and ignores the flag");
  return file;
}

/// A new file for measuring writes, which are system calls without retries by other means.
class RawWriter {
 public:
  /// Creates the file, which must not exist. `direct`: O_DIRECT; Error{unsupported} if the file system does not support
  /// it or, like tmpfs, ignores it.
  RawWriter(const std::string& path, bool direct) : file_(create_new(path, direct)) {}

  /// pwrite of all of `bytes`; with O_DIRECT, whole blocks of 4096 from aligned memory.
  void write_at(std::uint64_t offset, Bytes bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::pwrite(file_.fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        const Error failure = system_error(errno, "write", file_.path());
        throw Error(failure.code(), failure.what(), file_.path(), offset);
      }
      offset += static_cast<std::uint64_t>(written);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void sync() {
    if (::fsync(file_.fd()) != 0) throw system_error(errno, "sync", file_.path());
  }

 private:
  io::File file_;
};

/// Called with each block of a rank's file, in order.
using TakeBlock = std::function<void(std::uint64_t rank, std::uint64_t offset, Bytes block)>;

void read_rank(const WrittenCheckpoint& checkpoint, std::uint64_t rank, const TakeBlock& take, Context& context,
               const std::stop_token& stop) {
  const io::File file = io::File::open_read(checkpoint.folder.whole(rank));
  io::AlignedBuffer buffer;
  const std::uint64_t end = checkpoint.rank_bytes[rank];
  for (std::uint64_t offset = 0; offset < end;) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while reading a checkpoint");
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

/// Runs every rank in its own thread; returns the seconds until the last ended.
double for_each_rank(std::size_t ranks, Context& context,
                     const std::function<void(std::uint64_t rank, const std::stop_token& stop)>& work) {
  const Clock::time_point begin = Clock::now();
  sync::TaskGroup group(context.stop_token());
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
  throw Error(ErrorCode::corrupt,
              fmt::format("'{}' contains other bytes than were written, from byte {} onwards: this storage loses data; "
                          "check the kernel log and the health of the disk",
                          path, offset + wrong),
              path, offset + wrong);
}

/// Empties the page cache of the checkpoint; false where that is not possible.
bool drop_from_cache(const WrittenCheckpoint& checkpoint) {
  try {
    for (std::uint64_t rank = 0; rank < checkpoint.rank_bytes.size(); ++rank) {
      io::drop_from_cache(io::File::open_read(checkpoint.folder.whole(rank)));
    }
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return false;
  }
}

/// The work of one rank. The constructor makes everything that training would have before the checkpoint begins.
class RankWriter {
 public:
  RankWriter(std::uint64_t rank, std::uint64_t bytes, std::uint64_t repetition, const CheckpointSettings& settings,
             const std::stop_token& stop)
      : rank_(rank), bytes_(bytes), settings_(settings), state_(rank, repetition, std::min(settings.block, bytes)) {
    if (settings.mode != CheckpointMode::background) return;
    snapshot_ = memory_.get(bytes);
    for (std::uint64_t offset = 0; offset < bytes; offset += settings.block) {  // page faults are not timed: trainers
      throw_if(stop);                                                           // keep this memory
      std::memset(snapshot_.data() + offset, 0, std::min(settings.block, bytes - offset));
    }
  }

  void run(const CheckpointFolder& folder, Clock::time_point begin, Context& context, const std::stop_token& stop) {
    begin_ = begin;
    if (!snapshot_.empty()) copy_state(stop);
    RawWriter writer(folder.partial(rank_), settings_.direct);
    write(writer, context, stop);
    written_ = since_begin();
    writer.sync();
    durable_ = since_begin();
  }

  void add_to(CheckpointTimes& times) const {
    times.snapshot_seconds = std::max(times.snapshot_seconds, copied_);
    times.write_seconds = std::max(times.write_seconds, written_);
    times.sync_seconds = std::max(times.sync_seconds, durable_ - written_);
    times.fastest_rank_seconds = times.rank_bytes.empty() ? durable_ : std::min(times.fastest_rank_seconds, durable_);
    times.slowest_rank_seconds = std::max(times.slowest_rank_seconds, durable_);
    times.writes.merge(latency_);
    times.rank_bytes.push_back(done_);
  }

 private:
  double since_begin() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  static void throw_if(const std::stop_token& stop) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "interrupted while writing a checkpoint");
  }

  void copy_state(const std::stop_token& stop) {
    for (std::uint64_t offset = 0; offset < bytes_; offset += settings_.block) {
      throw_if(stop);
      const Bytes piece = state_.at(offset, std::min(settings_.block, bytes_ - offset));
      std::memcpy(snapshot_.data() + offset, piece.data(), piece.size());
    }
    copied_ = since_begin();
  }

  void write(RawWriter& writer, Context& context, const std::stop_token& stop) {
    while (done_ < bytes_ && !(settings_.budget && since_begin() >= *settings_.budget)) {
      throw_if(stop);
      const std::uint64_t length = std::min(settings_.block, bytes_ - done_);
      const Bytes piece = snapshot_.empty() ? state_.at(done_, length) : Bytes(snapshot_).subspan(done_, length);
      const Clock::time_point asked = Clock::now();
      writer.write_at(done_, piece);
      latency_.record(Clock::now() - asked);
      done_ += length;
      context.progress().bytes.fetch_add(length, std::memory_order_relaxed);
    }
  }

  std::uint64_t rank_;
  std::uint64_t bytes_;
  const CheckpointSettings& settings_;
  CheckpointBytes state_;
  io::AlignedBuffer memory_;
  MutableBytes snapshot_;
  Clock::time_point begin_;
  double copied_ = 0;
  double written_ = 0;
  double durable_ = 0;
  std::uint64_t done_ = 0;
  stats::LatencyHistogram latency_;
};

}  // namespace

CheckpointFolder::CheckpointFolder(io::FileSystem& files, const std::string& parent)
    : files_(files), path_(io::join_path(checked(parent), std::string(kPrefix) + "XXXXXX")) {
  if (::mkdtemp(path_.data()) == nullptr) throw system_error(errno, "make a folder in", parent);
}

CheckpointFolder::~CheckpointFolder() {
  std::error_code ignored;  // nothing more can be done about it
  std::filesystem::remove_all(path_, ignored);
}

std::string CheckpointFolder::partial(std::uint64_t rank) const {
  return io::join_path(path_, fmt::format(".rank-{:05}.partial", rank));
}

std::string CheckpointFolder::whole(std::uint64_t rank) const {
  return io::join_path(path_, fmt::format("rank-{:05}.ckpt", rank));
}

void CheckpointFolder::publish(std::uint64_t ranks) {
  for (std::uint64_t rank = 0; rank < ranks; ++rank) files_.rename(partial(rank), whole(rank));
  files_.sync_directory(path_);
}

void CheckpointFolder::clear() {
  for (const auto& entry : std::filesystem::directory_iterator(path_)) files_.remove(entry.path());
  files_.sync_all(io::File(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), path_));
}

std::vector<std::string> checkpoint_folders(const std::string& parent) {
  std::vector<std::string> folders;
  const auto options =
      std::filesystem::directory_options::skip_permission_denied;  // writing there will give a better error
  for (const auto& entry : std::filesystem::directory_iterator(checked(parent), options)) {
    if (entry.path().filename().string().starts_with(kPrefix) && entry.is_directory()) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

CheckpointBytes::CheckpointBytes(std::uint64_t rank, std::uint64_t repetition, std::size_t length)
    : rank_(rank), repetition_(repetition), buffer_(memory_.get(length)) {
  gpu::fill_pattern(buffer_, rank);
}

Bytes CheckpointBytes::at(std::uint64_t offset, std::size_t length) {
  const MutableBytes bytes = buffer_.first(length);
  for (std::size_t i = 0; i < length; i += kBlock) {
    const std::array<std::uint64_t, 3> stamp{rank_, repetition_, offset + i};
    std::memcpy(bytes.data() + i, stamp.data(), sizeof stamp);
  }
  return bytes;
}

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
  result.cache_state = drop_from_cache(checkpoint) ? CacheState::cold : CacheState::unknown;
  std::vector<CheckpointBytes> wanted;
  for (std::uint64_t rank = 0; rank < checkpoint.rank_bytes.size(); ++rank) {
    wanted.emplace_back(rank, checkpoint.repetition, std::min(checkpoint.block, checkpoint.rank_bytes[rank]));
  }
  const TakeBlock check = [&](std::uint64_t rank, std::uint64_t offset, Bytes block) {
    compare(checkpoint, rank, offset, block, wanted[rank].at(offset, block.size()));
  };
  result.seconds = for_each_rank(
      checkpoint.rank_bytes.size(), context,
      [&](std::uint64_t rank, const std::stop_token& stop) { read_rank(checkpoint, rank, check, context, stop); });
  return result;
}

std::uint64_t CheckpointTimes::bytes() const {
  return std::accumulate(rank_bytes.begin(), rank_bytes.end(), std::uint64_t{0});
}

CheckpointTimes write_checkpoint(CheckpointFolder& folder, const CheckpointPlan& plan,
                                 const CheckpointSettings& settings, std::uint64_t repetition, Context& context) {
  std::vector<std::unique_ptr<RankWriter>> ranks;
  for (std::uint64_t rank = 0; rank < plan.writers; ++rank) {
    ranks.push_back(std::make_unique<RankWriter>(rank, plan.rank_bytes, repetition, settings, context.stop_token()));
  }
  const Clock::time_point begin = Clock::now();
  for_each_rank(ranks.size(), context, [&](std::uint64_t rank, const std::stop_token& stop) {
    ranks[rank]->run(folder, begin, context, stop);
  });
  CheckpointTimes times;
  for (const auto& rank : ranks) rank->add_to(times);
  folder.publish(plan.writers);
  times.durable_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  times.publish_seconds = times.durable_seconds - times.slowest_rank_seconds;
  times.block_seconds = settings.mode == CheckpointMode::background ? times.snapshot_seconds : times.durable_seconds;
  return times;
}

}  // namespace shardkit::bench
