#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/checkpoint/checkpoint_files.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "stats/latency_histogram.hpp"
#include "system/storage.hpp"

/// `iobench checkpoint`: how long training waits for a checkpoint, and when it is safe.
namespace shardkit::bench {

enum class CheckpointModes { both, sync, background };
constexpr auto enum_names(CheckpointModes) { return std::to_array<std::string_view>({"both", "sync", "background"}); }

struct CheckpointOptions {
  std::string directory;
  CheckpointModes mode = CheckpointModes::both;
  std::optional<std::string> job;
  std::optional<std::string> model;
  double scale = 1;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> writers;
  std::uint64_t block = 1U << 20U;
  bool direct = false;
  std::uint64_t repeat = 3;
  std::optional<double> budget;
  std::optional<std::string> drain_to;
  bool read_back = false;
  std::optional<double> step_time;
  std::optional<std::uint64_t> every;

  void describe(FieldVisitor& v);
};

/// One mode: medians over the repetitions.
struct CheckpointRow {
  CheckpointMode mode = CheckpointMode::sync;
  std::uint64_t repetitions = 0;
  std::uint64_t bytes = 0;
  double block_seconds = 0;
  RateInterval block_interval;  ///< of the median, in seconds
  double durable_seconds = 0;
  RateInterval durable_interval;
  double bytes_per_second = 0;
  double snapshot_seconds = 0;
  double write_seconds = 0;
  double sync_seconds = 0;
  double publish_seconds = 0;
  double fastest_rank_seconds = 0;
  double slowest_rank_seconds = 0;
  stats::LatencyQuantiles write_latency;  ///< of all repetitions together
  std::optional<double> share_ratio;
  std::optional<double> headroom_ratio;  ///< below 1 checkpoints pile up

  void describe(FieldVisitor& v);
};

/// Bringing a durable checkpoint to slower storage.
struct CheckpointDrain {
  std::string directory;
  double drain_seconds = 0;
  double bytes_per_second = 0;
  std::optional<double> headroom_ratio;
  system::StorageFacts storage;

  void describe(FieldVisitor& v);
};

/// Every byte compared with what was written.
struct CheckpointRestore {
  std::string directory;
  std::uint64_t bytes = 0;
  double read_seconds = 0;
  double bytes_per_second = 0;
  std::string cache_state;

  void describe(FieldVisitor& v);
};

struct CheckpointResult {
  std::optional<std::string> model;
  std::uint64_t writers = 0;
  std::uint64_t bytes = 0;
  std::uint64_t block = 0;
  bool direct = false;
  std::optional<std::string> fio;  ///< the command line that a job stands for
  double block_seconds = 0;        ///< of the first row
  double durable_seconds = 0;
  double bytes_per_second = 0;
  std::vector<CheckpointRow> rows;
  std::optional<CheckpointDrain> drain;
  std::vector<CheckpointRestore> read_back;
  system::StorageFacts storage;

  /// True when checkpoints of a given interval would pile up.
  bool has_findings() const;
  void describe(FieldVisitor& v);
};

/// Writes checkpoints into a folder of its own below options.directory, which is gone when it returns or throws. Throws
/// Error{usage, not_found, denied}, Error{no_space} before anything is written when the room is known to be too small,
/// Error{corrupt} when bytes come back wrong.
CheckpointResult checkpoint(const CheckpointOptions& options, Context& context);

}  // namespace shardkit::bench
