#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/cache_state.hpp"
#include "bench/machine/neighbors.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/bytes.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "io/file.hpp"
#include "io/file_system.hpp"
#include "stats/latency_histogram.hpp"
#include "system/storage.hpp"

/// `iobench checkpoint`: how long training waits for a checkpoint, and when it is durable.
namespace shardkit::bench {

enum class CheckpointModes { both, sync, background };
constexpr auto enum_names(CheckpointModes) { return std::to_array<std::string_view>({"both", "sync", "background"}); }

struct CheckpointOptions {
  std::string directory;
  CheckpointModes mode = CheckpointModes::both;
  std::optional<std::string> job;
  std::optional<std::string> preset;
  double scale = 1;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> threads;
  std::uint64_t block = 1U << 20U;
  bool direct = false;
  std::uint64_t repeat = 3;
  std::optional<double> budget;
  std::optional<std::string> drain_to;
  bool recheck = false;
  std::optional<double> step_time;
  std::optional<std::uint64_t> checkpoint_every;

  void describe(FieldList& v);
};

/// One file per writer. Sizes are whole blocks of 4096 bytes, as direct I/O requires.
struct CheckpointPlan {
  std::vector<std::uint64_t> rank_bytes;

  std::uint64_t writers() const { return rank_bytes.size(); }
  std::uint64_t bytes() const;
};

/// A preset has 8 ranks on this node, or fewer if it has fewer, unless `threads` is set. Each writes scale * bytes /
/// ranks. Without one: `bytes`, by default 1 GiB, in equal parts. Throws Error{usage}.
CheckpointPlan plan_checkpoint(const CheckpointOptions& options);

/// `options` with the settings of --job, which is fio's example of a sequential write. --scale makes its files smaller.
/// Throws Error{usage} for an unknown job, or a job combined with an option that it sets.
CheckpointOptions with_job(const CheckpointOptions& options);

/// The fio command of the job; empty without a job. For options returned by with_job().
std::optional<std::string> fio_command(const CheckpointOptions& options);

/// Throws Error{usage} for invalid combinations.
void check_options(const CheckpointOptions& options);

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

/// One mode: medians over the repetitions.
struct CheckpointRow : CheckpointSeconds {
  CheckpointMode mode = CheckpointMode::sync;
  std::uint64_t repetitions = 0;
  std::uint64_t bytes = 0;
  stats::Interval block_interval;  ///< of the median, in seconds
  stats::Interval durable_interval;
  double bytes_per_second = 0;
  stats::LatencyQuantiles write_latency;  ///< of all repetitions together
  std::optional<double> share_ratio;
  std::optional<double> headroom_ratio;  ///< below 1, checkpoints cannot keep up

  void describe(FieldList& v);
};

/// A copy of a durable checkpoint on slower storage.
struct CheckpointDrain {
  std::string directory;
  double drain_seconds = 0;
  double bytes_per_second = 0;
  std::optional<double> headroom_ratio;
  system::StorageFacts storage;

  void describe(FieldList& v);
};

/// Comparison of every byte with what was written.
struct CheckpointRestore {
  std::string directory;
  std::uint64_t bytes = 0;
  double read_seconds = 0;
  double bytes_per_second = 0;
  CacheState cache_state = CacheState::unknown;

  void describe(FieldList& v);
};

struct CheckpointResult {
  std::optional<std::string> model;
  std::uint64_t writers = 0;
  std::uint64_t bytes = 0;
  std::uint64_t block = 0;
  bool direct = false;
  std::optional<std::string> fio;  ///< command line of the job
  double block_seconds = 0;        ///< of the first row
  double durable_seconds = 0;
  double bytes_per_second = 0;
  std::vector<CheckpointRow> rows;
  std::optional<CheckpointDrain> drain;
  std::vector<CheckpointRestore> read_back;
  system::StorageFacts storage;
  Neighbors neighbors;       ///< while checkpoints were written
  bool interrupted = false;  ///< then the rows are of the checkpoints until the stop

  /// True if checkpoints at the given interval cannot keep up.
  bool has_findings() const;
  void describe(FieldList& v);
};

/// Writes checkpoints into a new folder below options.directory, which is removed before it returns or throws. Throws
/// Error{usage, not_found, denied}, Error{no_space} before writing if the free space is too small, and Error{corrupt}
/// if bytes read back are wrong.
CheckpointResult checkpoint(const CheckpointOptions& options, Context& context);

}  // namespace shardkit::bench
