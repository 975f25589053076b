#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "io/file.hpp"
#include "io/file_system.hpp"
#include "staging/stage_journal.hpp"
#include "staging/stage_set.hpp"

namespace shardkit::staging {

/// The folder that stages fill, and their files in `.shardkit`: a lock, a journal, partial files with their logs,
/// leases, and at the end the marker. Several processes may fill it with the same set at the same time.
class StageTarget {
 public:
  /// The folder's contents of another set, `finished` or not, would be replaced: throws if they must not be.
  using CheckReplace = std::function<void(const StagedMarker& found, bool finished)>;

  StageTarget(io::FileSystem& files, std::string folder);

  /// True for the names, relative to a folder, that a stage uses itself.
  static bool is_own_state(const std::string& name);

  /// True if the folder contains all files of `set` in `expected`, in their version if it is known, and no size,
  /// modification time or inode has changed. Reads no data and changes nothing.
  bool holds(const StagedSetId& set, const std::vector<ExpectedFile>& expected) const;
  std::optional<StagedMarker> marker() const { return find_staged_marker(folder_); }

  /// Creates the folder and joins the processes that fill it with `set`, or takes it over for that set: removes
  /// leftovers of an unfinished copy of another set that `wanted` does not replace, and a wrong marker. Waits while it
  /// is filled with another set. A finished copy of another set is removed if `check_replace`, which is called while no
  /// other process can work or take a lease, does not throw for its marker; it is not called if the copy only grows.
  /// The announced size of the set is 0.
  void join(const StagedSetId& set, const std::vector<StageFile>& wanted, const CheckReplace& check_replace,
            const std::stop_token& stop);

  /// Whether all files that stages brought here are also those of `wanted`: then it only adds files, and replaces
  /// manifests. False for a folder without such files.
  static bool only_grows(const StageJournal::State& journal, const std::vector<StageFile>& wanted);

  /// Ends join(): other processes may evict the folder again, or fill it with another set.
  void release();

  /// Space that `file` already takes on the disk, complete or reserved for its partial file. `journal`: of this folder.
  std::uint64_t bytes_on_disk(const StageFile& file, const StageJournal::State& journal) const;
  /// Bytes of `file` that a stage need not fetch: of a partial file those that its log lists.
  std::uint64_t bytes_arrived(const StageFile& file, const StageJournal::State& journal) const;

  /// Throws Error{conflict} if another program's file has the name of the manifest.
  void check_manifest_name(const ManifestSet& set) const;

  /// Makes the names of all staged files durable.
  void sync_names(const std::vector<StageFile>& wanted);

  /// Publishes the manifests of `sets`, if any, then makes all names durable, then publishes the marker. Its `subsets`
  /// include those of the previous marker, as long as they are complete; they are empty if all files of the `whole` set
  /// are.
  void finish(const std::vector<ManifestSet>& sets, StagedMarker marker, const std::vector<StageFile>& wanted,
              const std::vector<std::string>& whole);

  /// Warns of shards in the folder that no stage brought: a loader that opens *.tar would read them as well.
  void warn_of_strangers(Context& ctx);

  std::string path_of(const std::string& name) const;
  /// Path of a file before it gets its name, and of its part log.
  std::string partial_path(const std::string& name) const;
  std::string part_log_path(const std::string& name) const;
  /// The folder itself, after joining.
  const io::ContainedFolder& contained() const { return *contained_; }
  StageJournal& journal() { return *journal_; }
  const std::string& folder() const { return folder_; }

 private:
  bool take_alone(const StagedSetId& set, const std::vector<StageFile>& wanted, const CheckReplace& check_replace);
  void adopt(const StagedSetId& set, const std::vector<StageFile>& wanted, const CheckReplace& check_replace);
  bool is_there(const std::string& name, const StageJournal::State& state) const;
  bool is_complete(const StageFile& file, const StageJournal::State& journal) const;
  bool all_there(const StageJournal::State& state) const;
  bool all_there_or_coming(const StageJournal::State& state) const;
  void forget_outdated(StageJournal::State& state, const std::vector<StageFile>& wanted, bool grows);
  void remove_partials(const StageJournal::State& state, const std::set<std::string>* kept);

  io::FileSystem& files_;
  std::string folder_;
  std::optional<io::FolderLock> lock_;
  std::unique_ptr<io::ContainedFolder> contained_;
  std::unique_ptr<StageJournal> journal_;
};

}  // namespace shardkit::staging
