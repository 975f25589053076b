#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "dataset/sharding/planned_shards.hpp"

namespace shardkit {

/// Seconds per phase. Scan is wall time; the others are summed over threads and overlap.
struct WritePhases {
  double scan = 0;
  double read = 0;
  double write = 0;
  double sync = 0;

  void describe(FieldVisitor& v);
};

/// One folder of shards: the target, or one of its sets such as train and val.
struct WrittenSet {
  std::string name;  ///< of the set; empty where the target is the only one
  std::uint64_t samples = 0;
  std::uint64_t shards = 0;
  std::uint64_t bytes = 0;
  std::string manifest;
  std::string plan_hash;

  void describe(FieldVisitor& v);
};

/// A file or sample that is in no shard, and why.
struct SkippedFile {
  std::string path;
  std::string reason;

  void describe(FieldVisitor& v);
};

/// Appends `skipped` to what a result lists, up to 1000 in all; `folder` goes in front of each path.
void list_skipped(std::vector<SkippedFile>& listed, const std::vector<IndexSkip>& skipped,
                  const std::string& folder = {});

/// What convert and reshard report of the shards they wrote.
struct WrittenSets {
  std::uint64_t samples = 0;
  std::uint64_t shards = 0;
  std::uint64_t bytes = 0;
  double files_per_second = 0;
  double bytes_per_second = 0;
  WritePhases phases_seconds;
  std::uint64_t shards_written = 0;
  std::uint64_t shards_reused = 0;
  std::vector<WrittenSet> sets;

  /// Adds what became of one set.
  void add(const std::string& name, const PlannedReport& report);
  void describe(FieldVisitor& v);

 private:
  std::uint64_t samples_written_ = 0;
  std::uint64_t bytes_written_ = 0;
  double seconds_ = 0;
};

}  // namespace shardkit
