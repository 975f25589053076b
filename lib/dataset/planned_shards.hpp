#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataset/convert_target.hpp"
#include "dataset/foreign_set.hpp"
#include "dataset/sample_source.hpp"
#include "dataset/shard_job.hpp"

/// From an adopted plan to published shards and manifest: the half that convert and reshard share.
namespace shardkit {

struct PlannedWork {
  ConvertTarget& target;  ///< its plan is adopted
  SampleSource& source;
  std::optional<Part> part;  ///< all shards without one
  bool recheck = false;      ///< compare checksums of shards found finished
  unsigned cores = 1;
  const char* phase = "";   ///< of the progress while shards are written; a literal
  ForeignKinds kinds = {};  ///< other readers' indexes to write beside the shards
};

struct PlannedReport {
  Manifest manifest;  ///< over the shards of the part
  std::string manifest_path;
  std::vector<IndexSkip> skipped;     ///< left out by the plan, then while writing
  std::uint64_t shards_written = 0;   ///< by this run
  std::uint64_t shards_reused = 0;    ///< found finished
  std::uint64_t samples_written = 0;  ///< in shards_written, as planned
  std::uint64_t bytes_written = 0;
  double seconds = 0;  ///< wall time of the writing
  ShardJobReport job;
};

/// Writes the shards of the part that are not finished yet, then the manifest of the whole or of the part. Throws
/// Error{no_space} before the first byte when the target's file system lacks room.
PlannedReport write_planned_shards(const PlannedWork& work, FileSystem& files, Context& ctx);

}  // namespace shardkit
