#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "dataset/indexes/reader_indexes.hpp"
#include "dataset/sharding/part.hpp"
#include "dataset/sharding/shard_target.hpp"
#include "dataset/sharding/shard_writer.hpp"
#include "dataset/sharding/sharding_options.hpp"

namespace shardkit::dataset {

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
  std::uint64_t reads_in_flight = 0;  ///< at the most; described by convert only

  void describe(FieldVisitor& v);
};

/// A set of shards that is being made.
struct TargetSet {
  TargetSet(io::FileSystem& files, std::string set, std::string folder)
      : name(std::move(set)), target(files, std::move(folder)) {}

  std::string name;  ///< such as train; empty where the target is the only one
  ShardTarget target;
  /// Of the shards of this part, in their order; empty: not finished. Known after ShardingJob::resume().
  std::vector<std::optional<formats::ShardSummary>> shards;
};

/// What convert and reshard share: they differ in how plans are made and where samples come from. In this order: add
/// the sets and adopt a plan for each, resume(), then write() each set. Used by one thread; borrows files and context.
class ShardingJob {
 public:
  /// `verb` names the progress while shards are written: a literal. `target` is the folder of the set or sets. `parts`
  /// is the number of parts that a plan names, for schedulers that know none. Throws Error{usage} for parts and index
  /// kinds that do not exist.
  ShardingJob(const char* verb, std::string target, const WriteOptions& options, std::optional<std::uint64_t> parts,
              io::FileSystem& files, Context& ctx);

  /// Adds the target itself (`name` is empty) or a set below it. Throws Error{conflict} when a target of several sets
  /// holds shards of its own: its readers would find one set and, in its folders, others.
  TargetSet& add_set(const std::string& name);
  /// Their addresses stay the same.
  std::deque<TargetSet>& sets() { return sets_; }
  /// Threads that work at the same time.
  unsigned cores() const { return cores_; }

  /// Ends the planning: finds the shards that are finished. Throws Error{no_space} when the file system of the target
  /// lacks room for the others, before the first byte; `beside` is put behind it in the message: what takes room there
  /// already.
  void resume(WrittenSets& result, const std::string& beside = {});

  /// Writes the shards of the set that are not finished, then its indexes and the manifest of the whole or the part,
  /// and adds all that to `result`. Returns what was left out, by the plan and while writing.
  std::vector<formats::IndexSkip> write(TargetSet& set, SampleSource& source, WrittenSets& result);

 private:
  ShardsWritten write_shards_of(TargetSet& set, SampleSource& source, WrittenSets& result);

  const char* verb_;
  const std::string target_;
  const IndexKinds kinds_;
  const std::optional<Part> part_;  ///< all shards without one
  const bool recheck_;
  const unsigned cores_;
  io::FileSystem& files_;
  Context& ctx_;
  const std::chrono::steady_clock::time_point start_;
  std::deque<TargetSet> sets_;
  std::uint64_t samples_written_ = 0;  ///< as planned
  std::uint64_t bytes_written_ = 0;
  double seconds_ = 0;  ///< wall time of the writing
};

}  // namespace shardkit::dataset
