#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/cache_state.hpp"
#include "core/bytes.hpp"
#include "core/context.hpp"
#include "io/file.hpp"
#include "io/file_system.hpp"
#include "stats/latency_histogram.hpp"

/// Writes the files of a checkpoint, copies them and reads them back.
namespace shardkit::bench {

/// One file per writer, all of one size: whole blocks of 4096 bytes, as direct I/O requires.
struct CheckpointPlan {
  std::uint64_t writers = 1;
  std::uint64_t rank_bytes = 0;

  std::uint64_t bytes() const { return writers * rank_bytes; }
};

/// A new folder below one that the user named, for the files of a benchmark's checkpoints. It is removed with its
/// contents when the object is destroyed, also after an error.
class CheckpointFolder {
 public:
  /// Throws Error{not_found} if `parent` is not a folder: a mistyped mount point must not fill another disk.
  CheckpointFolder(io::FileSystem& files, const std::string& parent);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Path of a rank's file while it is written, and when it is complete.
  std::string partial(std::uint64_t rank) const;
  std::string whole(std::uint64_t rank) const;

  /// Renames the files of the ranks and makes the names durable.
  void publish(std::uint64_t ranks);
  /// Removes the files, and waits until the disk has written all pending data, so that it does not slow down the next
  /// repetition.
  void clear();

 private:
  io::FileSystem& files_;
  std::string path_;
};

/// Folders of other runs in `parent`: of a run in progress, or of one that was killed. Sorted by name.
std::vector<std::string> checkpoint_folders(const std::string& parent);

/// The content of a rank's file: noise that cannot be compressed. Every block contains its rank, repetition and
/// position, so a block that was lost, duplicated or left from an earlier repetition is noticed when it is read back.
/// It depends only on rank, repetition and offset, so nothing must be kept for the comparison.
class CheckpointBytes {
 public:
  static constexpr std::uint64_t kBlock = 4096;

  /// `length` is a multiple of kBlock: the largest length for at().
  CheckpointBytes(std::uint64_t rank, std::uint64_t repetition, std::size_t length);

  /// The `length` bytes at `offset`, both multiples of kBlock. Valid until the next call.
  Bytes at(std::uint64_t offset, std::size_t length);

 private:
  std::uint64_t rank_;
  std::uint64_t repetition_;
  io::AlignedBuffer memory_;
  MutableBytes buffer_;
};

/// The checkpoint of one repetition, in a folder.
struct WrittenCheckpoint {
  CheckpointFolder& folder;
  std::uint64_t repetition = 0;
  std::vector<std::uint64_t> rank_bytes;
  std::uint64_t block = 1U << 20U;
};

/// Copies the files, one thread each, and makes the copies durable; returns the seconds. Copies are written with
/// O_DIRECT if `direct`.
double drain_checkpoint(const WrittenCheckpoint& from, CheckpointFolder& to, bool direct, Context& context);

struct ReadBack {
  double seconds = 0;
  CacheState cache_state = CacheState::unknown;  ///< cold, or unknown if the page cache could not be emptied
};

/// Reads all files, one thread each, from disk if the cache can be emptied, and compares every byte. Throws
/// Error{corrupt} with path and offset of the first wrong byte. Only the reading is timed.
ReadBack read_back_checkpoint(const WrittenCheckpoint& checkpoint, Context& context);

enum class CheckpointMode {
  sync,        ///< training waits until all is durable
  background,  ///< training waits for a copy in memory, which is written while training continues
};
constexpr auto enum_names(CheckpointMode) { return std::to_array<std::string_view>({"sync", "background"}); }

struct CheckpointSettings {
  CheckpointMode mode = CheckpointMode::sync;
  std::uint64_t block = 1U << 20U;  ///< bytes per write; a multiple of 4096
  bool direct = false;
  std::optional<double> budget;  ///< seconds after which ranks stop writing
};

/// Seconds since the start of the checkpoint.
struct CheckpointSeconds {
  double block_seconds = 0;         ///< time that training waits
  double snapshot_seconds = 0;      ///< until the last rank has its copy; 0 without one
  double write_seconds = 0;         ///< until the last rank's last write has returned
  double durable_seconds = 0;       ///< until files, names and folder are durable
  double sync_seconds = 0;          ///< the longest fsync of a rank
  double publish_seconds = 0;       ///< renames and the folder's fsync
  double fastest_rank_seconds = 0;  ///< until the first rank's file was durable
  double slowest_rank_seconds = 0;  ///< until the last one's was
};

struct CheckpointTimes : CheckpointSeconds {
  stats::LatencyHistogram writes;
  std::vector<std::uint64_t> rank_bytes;  ///< that were written

  std::uint64_t bytes() const;
};

/// Writes one checkpoint of `plan` into `folder`, one thread per rank. `repetition` is written into the blocks. Throws
/// the errors of writing, and Error{cancelled} after a stop request.
CheckpointTimes write_checkpoint(CheckpointFolder& folder, const CheckpointPlan& plan,
                                 const CheckpointSettings& settings, std::uint64_t repetition, Context& context);

}  // namespace shardkit::bench
