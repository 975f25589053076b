#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/checkpoint/checkpoint_plan.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "io/file_system.hpp"
#include "stats/latency_histogram.hpp"

/// What is done with a checkpoint that is there: bringing it elsewhere, and reading it back.
///
/// One checkpoint, written and timed.
namespace shardkit::bench {

/// A folder of its own below one that the user named, for the files of a benchmark's checkpoints. It goes with all that
/// is in it when the object does, after an error too.
class CheckpointFolder {
 public:
  /// Throws Error{not_found} when `parent` is no folder: a mistyped mount point must not fill another disk.
  CheckpointFolder(io::FileSystem& files, const std::string& parent);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Where a rank's file is while it is written, and once it is whole.
  std::string partial(std::uint64_t rank) const;
  std::string whole(std::uint64_t rank) const;

  /// Gives the ranks' files their names and makes these durable.
  void publish(std::uint64_t ranks);
  /// Removes the files, and waits until what the disk still has to do for others is done, so that it costs the next
  /// turn nothing.
  void clear();

 private:
  io::FileSystem& files_;
  std::string path_;
};

/// Folders in `parent` of other runs: of one that runs now, or that was killed. In order of their names.
std::vector<std::string> checkpoint_folders(const std::string& parent);

/// The checkpoint of one turn, in a folder.
struct WrittenCheckpoint {
  CheckpointFolder& folder;
  std::uint64_t turn = 0;
  std::vector<std::uint64_t> rank_bytes;
  std::uint64_t block = 1U << 20U;
};

/// Copies the files, one thread each, and makes the copies durable; returns the seconds that took. Copies are written
/// as `direct` says.
double drain_checkpoint(const WrittenCheckpoint& from, CheckpointFolder& to, bool direct, Context& context);

struct ReadBack {
  double seconds = 0;
  std::string cache_state;  ///< "cold", or "unknown" where the page cache could not be emptied
};

/// Reads all files, one thread each, from the disk where the cache can be emptied, and compares every byte. Throws
/// Error{corrupt} with path and offset of the first wrong one. Only the reading is timed.
ReadBack read_back_checkpoint(const WrittenCheckpoint& checkpoint, Context& context);

enum class CheckpointMode {
  sync,        ///< training waits until all is durable
  background,  ///< training waits for a copy in memory, which is written while it goes on
};
constexpr auto enum_names(CheckpointMode) { return std::to_array<std::string_view>({"sync", "background"}); }

struct CheckpointSettings {
  CheckpointMode mode = CheckpointMode::sync;
  std::uint64_t block = 1U << 20U;  ///< bytes per write; a multiple of 4096
  bool direct = false;
  std::optional<double> budget;  ///< seconds after which ranks write no more
};

/// Seconds since the start of the checkpoint.
struct CheckpointTimes {
  double block = 0;         ///< that training waits
  double snapshot = 0;      ///< until the last rank has its copy; 0 without one
  double written = 0;       ///< until the last rank's last write has returned
  double durable = 0;       ///< until files, names and folder are durable
  double sync = 0;          ///< the longest fsync of a rank
  double publish = 0;       ///< renames and the folder's fsync
  double fastest_rank = 0;  ///< until the first rank's file was durable
  double slowest_rank = 0;  ///< until the last one's was
  stats::LatencyHistogram writes;
  std::vector<std::uint64_t> rank_bytes;  ///< that were written

  std::uint64_t bytes() const;
};

/// Writes one checkpoint of `plan` into `folder`, a thread for each rank. `turn` goes into the bytes. Throws what a
/// write throws, Error{cancelled} once a stop is asked for.
CheckpointTimes write_checkpoint(CheckpointFolder& folder, const CheckpointPlan& plan,
                                 const CheckpointSettings& settings, std::uint64_t turn, Context& context);

}  // namespace shardkit::bench
