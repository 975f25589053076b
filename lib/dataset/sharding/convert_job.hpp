#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalog/set_rules.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "dataset/checks/dry_run.hpp"
#include "dataset/indexes/reader_indexes.hpp"
#include "dataset/sharding/part.hpp"
#include "dataset/sharding/shard_target.hpp"
#include "dataset/sharding/shard_writer.hpp"
#include "dataset/sharding/sharding_options.hpp"

namespace shardkit::dataset {

/// One folder of shards: the target, or one of its sets such as train and val.
struct WrittenSet {
  std::string name;  ///< of the set; empty if the target is the only one
  std::uint64_t samples = 0;
  std::uint64_t shards = 0;
  std::uint64_t bytes = 0;
  std::string manifest;
  std::string plan_hash;

  void describe(FieldList& v);
};

/// Appends `skipped` to the list of a result, up to 1000 in all; `folder` is put before each path.
void list_skipped(std::vector<formats::IndexSkip>& listed, const std::vector<formats::IndexSkip>& skipped,
                  const std::string& folder = {});

/// The report of convert and reshard about the shards they wrote.
struct WrittenSets {
  std::uint64_t samples = 0;
  std::uint64_t shards = 0;
  std::uint64_t bytes = 0;
  double files_per_second = 0;
  double bytes_per_second = 0;
  WritePhases phases_seconds;
  std::uint64_t shards_written = 0;
  std::uint64_t shards_reused = 0;
  std::optional<std::string> resumed;  ///< such as "4 of 9 shards kept"; empty if nothing existed
  std::vector<WrittenSet> sets;
  std::optional<DryRun> dry_run;      ///< after resume() of a dry run: nothing more to do
  std::uint64_t reads_in_flight = 0;  ///< upper bound; described by convert only

  void describe(FieldList& v);
};

/// The result of ConvertJob::write() for a set.
struct SetOutcome {
  std::vector<formats::IndexSkip> skipped = {};  ///< files left out, by the plan and while writing
  BadFiles bad = {};                             ///< if any are open, the set has no manifest yet
};

/// How many samples of a set may be left out.
struct SkipBudget {
  std::uint64_t most = UINT64_MAX;
  std::uint64_t used = 0;  ///< by the plan and in finished shards

  bool is_spent() const { return used > most; }
};

/// A set of shards that is being made, or an earlier plan of it.
struct OutputSet : ShardTarget {
  template <class... Target>
  explicit OutputSet(std::string set, bool last, Target&&... target)
      : ShardTarget(std::forward<Target>(target)...), name(std::move(set)), is_last(last) {}

  std::string name;  ///< such as train; empty if the target is the only one
  bool is_last;      ///< the set with its last plan; else only the shards of an earlier one
  /// Of the shards of this part, in their order; empty: not finished. Known after ConvertJob::find_finished().
  std::vector<std::optional<formats::ShardSummary>> shards;

  bool has_all_shards() const {
    return std::ranges::all_of(shards, [](const auto& shard) { return shard.has_value(); });
  }
};

/// Which plans of a set a job is about.
enum class Plans { last, all };

/// The common part of convert, reshard and merge, which differ in how plans are made and where samples come from. Order
/// of calls: add the sets and adopt a plan for each, settle_part(), resume(), then write() each set. merge looks for
/// finished shards and publishes. Used by one thread; borrows files and context.
class ConvertJob {
 public:
  /// `target` is the folder of the set or sets. `parts` is the number of parts that a plan names, for schedulers that
  /// know none. Throws Error{usage} for parts and index kinds that do not exist.
  ConvertJob(std::string target, const WriteOptions& options, std::optional<std::uint64_t> parts,
             io::OutputFiles& files, Context& context);

  /// Looks at the target itself (`name` is empty) or at a set below it, and enforces the rules of `verb`. Throws
  /// Error{conflict} if a target of several sets is one itself: its readers would find one set and, in its folders,
  /// others.
  std::shared_ptr<const catalog::SeenSet> look(const std::string& name, catalog::SetVerb verb);
  /// Adds it; with Plans::all before it also its earlier plans, opened. Returns the set with its last plan.
  OutputSet& add_set(const std::string& name, std::shared_ptr<const catalog::SeenSet> seen, Plans plans = Plans::last);
  /// ShardTarget::continue_append(); what was interrupted when it was complete is ended instead, except in a dry run.
  bool continue_append(OutputSet& set, const MakeIndexes& make_indexes);
  /// The same, then ShardTarget::begin_append().
  void begin_append(OutputSet& set, bool discard);
  const std::string& target() const { return target_; }
  /// Their addresses stay the same.
  std::deque<OutputSet>& sets() { return sets_; }
  /// Whether another run has ended an --append of this one meanwhile. Then removes what this run wrote after that.
  bool has_append_ended() const;
  /// Threads that work at the same time.
  unsigned cores() const { return cores_; }

  /// From now on the job is about all shards, whatever part the options name.
  void take_all_parts() {
    part_.reset();
    task_.reset();
  }
  /// Throws Error{usage} if this array task has no part, as far as the targets show without the plan of this run;
  /// before a scan and before prepare().
  void require_part();
  /// OutputSet::prepare(), after require_part(), with the part announced if it is known.
  void prepare(OutputSet& set);

  /// Ends the choice of the part: an array task takes it from the division that the sets have, or records it there.
  /// Throws Error{usage} as division_of() and part_of() do.
  void settle_part();

  /// Whether a set with a manifest, whose plan is open, lacks shards or indexes.
  bool lacks_shards(const OutputSet& set) const;
  /// Finds the shards of this part that are finished; returns the bytes of the others.
  std::uint64_t find_finished();

  /// Ends the planning: find_finished(), which returns the shards that were kept. Throws Error{no_space} before the
  /// first byte if the file system of the target lacks space for the others. `unpacked`: bytes of inputs that are
  /// stored there until the end, or in a dry run would be.
  void resume(WrittenSets& result, std::uint64_t unpacked = 0);

  /// Removes those of the shards that belong to this part, to be written again. Before resume().
  void reopen(OutputSet& set, const std::vector<std::size_t>& shards);
  /// Samples of the plan for this part.
  std::uint64_t planned_samples(const OutputSet& set) const;

  /// The manifest of this part of the set and of its earlier plans that were added, of which all shards are finished.
  /// `skipped`: see ShardTarget::manifest_of(), of the set's last plan.
  formats::Manifest manifest_of(const OutputSet& set, std::vector<formats::IndexSkip>& skipped) const;

  /// Writes the shards of the set that are not finished. Then, unless files are bad or the budget was already spent,
  /// writes its indexes and the manifest of the set or the part, and adds the outcome to `result`; after those of an
  /// earlier plan nothing.
  SetOutcome write(OutputSet& set, SampleSource& source, WrittenSets& result, const SkipBudget& budget = {});

  /// Makes the indexes of the set or of this part of it, and publishes its manifest, byte for byte the same for any
  /// number of parts; returns its path. What an --append adds is moved up into its set. Everything is durable then.
  std::string publish(OutputSet& set, const formats::Manifest& manifest, const MakeIndexes& make_indexes);
  /// The same for a set to whose shards nothing was added, with the requested indexes.
  std::string publish(OutputSet& set, const formats::Manifest& manifest);

 private:
  void refuse_other_indexes(const std::string& folder) const;
  void require_runs() const;
  void require_current(const OutputSet& set) const;
  void require_files(const OutputSet& set, const formats::Manifest& manifest);
  MakeIndexes indexes_of(const OutputSet& set) const;
  std::string end_append(OutputSet& set, const MakeIndexes& make_indexes);
  FinishedBy check() const { return recheck_ ? FinishedBy::bytes : FinishedBy::index; }
  Part part_of_task(const ArrayTask& task);
  ArrayTask with_planned_parts(ArrayTask task);
  WriteResult write_shards_of(OutputSet& set, SampleSource& source, bool md5, WrittenSets& result,
                              std::uint64_t may_skip);

  const std::string target_;
  const IndexKinds kinds_;
  std::optional<ArrayTask> task_;  ///< its part is known after settle_part()
  std::optional<Part> part_;       ///< all shards without one
  const bool recheck_;
  const bool dry_run_;
  const unsigned cores_;
  io::OutputFiles& files_;
  Context& context_;
  const std::chrono::steady_clock::time_point start_;
  std::optional<catalog::SeenSet> group_;  ///< the target of several sets
  std::deque<OutputSet> sets_;
  std::uint64_t samples_written_ = 0;  ///< as planned
  std::uint64_t bytes_written_ = 0;
  double seconds_ = 0;  ///< wall time of the writing
};

/// Runs a command that `make` makes, and starts again with a new one where another run has changed its targets since it
/// looked at them. Its job() has them.
template <class Make>
auto run_on_targets(const Make& make, Context& context) {
  while (true) {
    auto command = make();
    try {
      return command.run();
    } catch (const TargetChanged&) {
    } catch (const Error&) {
      if (!command.job().has_append_ended()) throw;  // else another run has added the same
    }
    context.progress().stage = 0;
  }
}

}  // namespace shardkit::dataset
