#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/set_state.hpp"
#include "dataset/sharding/generation.hpp"
#include "dataset/sharding/part.hpp"
#include "dataset/sharding/sharding_options.hpp"
#include "formats/manifest.hpp"
#include "formats/plan_file.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "io/run_file.hpp"

namespace shardkit::dataset {

/// Thrown when what a command knows of its targets no longer holds: it starts again (run_on_targets()).
struct TargetChanged {};

/// How much of a finished shard is compared with what is known of it.
enum class FinishedBy {
  size,   ///< of the tar, with the end of its index
  index,  ///< also all of the index is read
  bytes,  ///< also those of the tar
};

/// The output folder of a convert or a reshard. Its .shardkit/plan describes its content; the plan is written first and
/// decides, for all parts and restarts, whether they belong together. An --append writes to a folder of its own below
/// it (Generation), and adds its plan when it ends (formats::plan_path()). The last plan is current: all calls are
/// about its shards. Runs that write to the set announce themselves (io::RunFile, OutputFiles::claim()): those of one
/// plan work together, another plan has to wait until they have ended. In a bucket each object is written whole, and
/// never replaced by other bytes.
class ShardTarget {
 public:
  /// `seen`: the folder, for which the rules of the command hold. `dry_run`: nothing is written to the folder; during
  /// the lifetime of this object the plan is in the system's temporary folder.
  ShardTarget(io::OutputFiles& files, std::shared_ptr<const catalog::SeenSet> seen, bool dry_run = false);
  /// For the shards of a plan before the last, by its number in `seen`.
  ShardTarget(io::OutputFiles& files, std::shared_ptr<const catalog::SeenSet> seen, bool dry_run, std::uint64_t plan);

  /// The folder as it was when the command began.
  const catalog::SeenSet& seen() const { return *seen_; }

  /// Makes the folder and announces this run, except in a dry run.
  void prepare();
  ShardTarget(const ShardTarget&) = delete;
  ShardTarget& operator=(const ShardTarget&) = delete;
  /// Removes the folders again that prepare() made, if nothing was written.
  ~ShardTarget();

  /// Adopts the plan that `write` makes. The first convert into this folder publishes it; a later one must have the
  /// same samples in the same order, with files that are equal by `identity`, else Error{conflict} names the
  /// difference. A plan in a local folder without a shard of it gives way to this one; TargetChanged is thrown if it
  /// was open. Throws Error{conflict} for a file of others that has a name of the plan, Error{in_use} if a live run
  /// follows another plan, Error{io} if only class folders of the plan are missing, because the source may be mounted
  /// again.
  void adopt_plan(const std::function<void(ByteSink&)>& write, FileIdentity identity = FileIdentity::mtime);
  /// Adopts the current plan if it is a copy of `given`, without reading all of either; false if it is not, or there is
  /// none. After prepare(). Throws the errors of follow_plan().
  bool adopt_copy(const formats::PlanReader& given);
  /// Announces that this run follows the current plan, after prepare() and, if it is not open, open_plan(). Throws
  /// Error{in_use} if a live run follows another one or the plan was replaced meanwhile, and the errors of
  /// refuse_superseded().
  void follow_plan();
  /// Throws Error{in_use} if others no longer know of this run. Thread-safe.
  void require_run() const {
    if (run_) run_->require();
    files_.require_claims();
  }

  /// Runs that write to the folder, but for this one; none for a bucket, where nothing shows them.
  std::vector<io::Run> live_runs() const;

  /// Announces the part that this run writes. After prepare(); nothing in a dry run.
  void announce_part(const Part& part);
  /// How array jobs divide the current plan, as their first task recorded it; empty: none has, or
  /// the record is damaged: the next task writes it again.
  std::optional<Division> division() const;
  /// Records the division unless another task did; in a dry run nothing is recorded. Returns the one that is valid.
  Division record_division(const Division& division);

  /// --append: where the set is finished, all calls are about its next generation from now on; one that was begun is
  /// continued, or with `discard` replaced if it has another plan or a damaged one. Else nothing changes. Throws
  /// Error{conflict} for a set that reshard made.
  void begin_append(bool discard);
  /// The same if a generation was begun; false if none was.
  bool continue_append();
  /// Back to the set, where no run is announced yet: its generation has ended, or is not the one to work on.
  void end_append();
  /// Whether another run has ended this --append meanwhile. Then removes what this run wrote after that.
  bool has_append_ended() const;
  /// Nothing is to be added: back to the set, announced as by follow_plan(), without what may be discarded.
  void cancel_append();
  /// What an --append adds; null outside of one.
  const Generation* added() const { return added_ ? &*added_ : nullptr; }
  /// Throws Error{in_use} when another process has begun to add to the set, or has ended this --append: a manifest of
  /// this plan would hide that.
  void refuse_superseded() const;

  /// Whether there is a current plan that this run has to follow.
  bool has_plan() const;
  /// Opens the adopted plan, as merge does. Throws Error{not_found} if there is none.
  void open_plan();
  const formats::PlanReader& plan() const { return *plan_; }
  bool is_plan_open() const { return plan_ != nullptr; }
  /// The manifest that is there. Throws the errors of reading it.
  formats::Manifest manifest_now() const { return manifest_in(files_, output_); }
  /// Whether it can be read, and is that of the plan, which is open.
  bool is_finished() const;

  /// The shard's index entry if shard and index exist and fit the plan; empty if the shard must be written.
  std::optional<formats::ShardSummary> finished(std::size_t shard, FinishedBy check) const;

  /// Removes a finished shard that will be written again with other bytes, and the manifest that has its checksum.
  void reopen(std::size_t shard);

  /// A manifest of finished shards of the current plan. The classes count the samples that were written. `skipped`
  /// becomes the source files left out: by the scan, then those of `shards`, in order.
  formats::Manifest manifest_of(const std::vector<std::optional<formats::ShardSummary>>& shards,
                                std::vector<formats::IndexSkip>& skipped) const;

  io::OutputFiles& files() const { return files_; }
  /// Of the set.
  const std::string& folder() const { return folder_; }
  /// Where the shards are written: the folder of the set, or that of its generation.
  const std::string& output() const { return output_; }
  /// Of a file of output().
  std::string path_of(const std::string& name) const { return io::join_path(output_, name); }
  std::string state_path(std::string_view name) const {
    return io::join_path(io::join_path(output_, formats::kStateFolder), name);
  }

 private:
  /// Samples of the plan that the shards left out; `shorter`: names of these shards.
  std::map<std::string, std::uint64_t> left_out_by_class(const std::set<std::string_view>& shorter,
                                                         const std::vector<formats::IndexSkip>& skipped) const;

  std::string plan_path() const { return path_of(formats::plan_path(added_ ? 0 : number_)); }
  std::string division_path() const { return plan_path() + ".division"; }
  void adopt_dry(const std::function<void(ByteSink&)>& write, FileIdentity identity);
  bool has_only_plan() const;
  bool begin(io::AtomicFile& file, const formats::PlanReader& plan);
  void refuse_taken_names(const formats::PlanReader& plan) const;
  /// `other` is the plan at `path`, which messages name.
  void compare_plan(ByteSource& other, const std::string& path, FileIdentity identity) const;
  void announce(const std::string& plan);
  /// The live runs of others that follow another plan than `plan`, which is or was current, or discard one.
  std::vector<io::Run> runs_besides(const std::string& plan) const;
  void refuse_runs_besides(const std::string& plan, const std::string& why = {}) const;
  void discard_unless(const Hash128& plan);
  void discard_if(const std::function<bool()>& is_wanted);
  Generation next_generation() const { return {files_, folder_, number_}; }

  io::OutputFiles& files_;
  std::shared_ptr<const catalog::SeenSet> seen_;
  std::string folder_;
  std::string output_;
  bool dry_run_ = false;
  bool is_new_ = false;  ///< made by prepare(), as the next one
  bool is_state_new_ = false;
  std::uint64_t number_ = 0;  ///< of the last plan of the set
  bool had_append_ = false;   ///< one was begun when the folder was seen
  std::optional<Generation> added_;
  bool may_discard_ = false;  ///< the plan of the generation
  std::unique_ptr<io::RunFile> run_;
  std::unique_ptr<io::AtomicFile> dry_plan_;  // never committed
  std::unique_ptr<ByteSource> plan_file_;
  std::unique_ptr<formats::PlanReader> plan_;
};

/// Makes the folder of a set and its state folder, and announces a run there; null for a bucket, where nothing shows
/// runs: those on other machines do no harm, because their objects are compared.
std::unique_ptr<io::RunFile> begin_run(io::OutputFiles& files, const std::string& folder);
/// Removes what killed processes left there. For a run that will not be refused any more.
void remove_leftovers(io::OutputFiles& files, const std::string& folder, io::RunFile& run);

/// Adds the files that a shard left out, as its index lists them.
void append_skipped(io::OutputFiles& files, const std::string& index_path, std::vector<formats::IndexSkip>& skipped);

}  // namespace shardkit::dataset
