#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/checkpoint/checkpoint_folder.hpp"
#include "bench/checkpoint/checkpoint_plan.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "stats/latency_histogram.hpp"

/// One checkpoint, written and timed.
namespace shardkit {

enum class CheckpointMode {
  sync,        ///< training waits until all is durable
  background,  ///< training waits for a copy in memory, which is written while it goes on
};
template <>
struct EnumNames<CheckpointMode> {
  static constexpr std::array<std::string_view, 2> names{"sync", "background"};
};

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
  LatencyHistogram writes;
  std::vector<std::uint64_t> rank_bytes;  ///< that were written

  std::uint64_t bytes() const;
};

/// Writes one checkpoint of `plan` into `folder`, a thread for each rank. `turn` goes into the bytes. Throws what a
/// write throws, Error{cancelled} once a stop is asked for.
CheckpointTimes write_checkpoint(CheckpointFolder& folder, const CheckpointPlan& plan,
                                 const CheckpointSettings& settings, std::uint64_t turn, Context& context);

}  // namespace shardkit
