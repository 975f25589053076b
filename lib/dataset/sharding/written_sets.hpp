#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "dataset/indexes/foreign_indexes.hpp"
#include "dataset/sharding/shard_job.hpp"
#include "dataset/sharding/shard_target.hpp"

/// From an adopted plan to published shards and manifest: the half that convert and reshard share.
namespace shardkit::dataset {

struct PlannedWork {
  ConvertTarget& target;  ///< its plan is adopted
  SampleSource& source;
  std::optional<Part> part;  ///< all shards without one
  unsigned cores = 1;
  const char* phase = "";   ///< of the progress while shards are written; a literal
  ForeignKinds kinds = {};  ///< other readers' indexes to write beside the shards
};

struct PlannedReport {
  formats::Manifest manifest;  ///< over the shards of the part
  std::string manifest_path;
  std::vector<formats::IndexSkip> skipped;  ///< left out by the plan, then while writing
  std::uint64_t shards_written = 0;         ///< by this run
  std::uint64_t shards_reused = 0;          ///< found finished
  std::uint64_t samples_written = 0;        ///< in shards_written, as planned
  std::uint64_t bytes_written = 0;
  double seconds = 0;  ///< wall time of the writing
  ShardJobReport job;
};

/// The shards of a part that are not finished yet.
struct PlannedRest {
  std::vector<std::size_t> shards;
  std::uint64_t samples = 0;  ///< in them, as planned
  std::uint64_t bytes = 0;    ///< of their tars; less when samples are left out
};
/// `recheck`: those found finished have their checksums compared.
PlannedRest still_to_write(const ConvertTarget& target, const std::optional<Part>& part, bool recheck, Context& ctx);

/// Throws Error{no_space} when the file system of `folder`, which is there, lacks room for `bytes` of shards. `beside`
/// is put behind them in the message: what takes room there already.
void check_room(const std::string& folder, std::uint64_t bytes, const std::string& beside = {});

/// Writes `rest`, then the manifest of the whole or of the part.
PlannedReport write_planned_shards(const PlannedWork& work, const PlannedRest& rest, io::FileSystem& files,
                                   Context& ctx);

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
void list_skipped(std::vector<SkippedFile>& listed, const std::vector<formats::IndexSkip>& skipped,
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

}  // namespace shardkit::dataset
