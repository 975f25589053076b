#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/checkpoint/checkpoint_files.hpp"
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
  std::optional<std::string> preset;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> threads;
  bool direct = false;
  std::uint64_t repeat = 3;
  std::optional<double> budget;
  std::optional<std::string> drain_to;
  bool recheck = false;
  std::optional<double> step_time;
  std::optional<std::uint64_t> checkpoint_every;

  void describe(FieldList& v);
};

/// A preset has 8 ranks on this node, or fewer if it has fewer, unless `threads` is set. Each writes its share of the
/// model. With `bytes`, or without a preset: that, by default 1 GiB, in equal parts. Throws Error{usage}.
CheckpointPlan plan_checkpoint(const CheckpointOptions& options);

/// Throws Error{usage} for invalid combinations.
void check_options(const CheckpointOptions& options);

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
  double block_seconds = 0;  ///< of the first row
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
