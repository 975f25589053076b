#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "io/file.hpp"
#include "io/file_system.hpp"
#include "staging/stage_journal.hpp"
#include "staging/stage_set.hpp"

namespace shardkit::staging {

class FileCopy;

/// A file whose bytes are complete and correct.
struct CopiedFile {
  std::shared_ptr<FileCopy> copy;
  Hash128 hash;
};

/// The fault of a file at `path` with the hash `found`, in words; empty if none is known. An index has no checksum in
/// the manifest but one in itself, and contains the name of its shard.
std::optional<std::string> mismatch(const StageFile& file, const std::string& path, const Hash128& found);
/// The fault of an index of ours that should be of this shard, in words; empty if it is right. `path`: for messages.
std::optional<std::string> index_fault(const formats::ManifestShard& shard, ByteSource& index, const std::string& path);

/// The path of a file of the staged folder `folder` before it gets its name.
std::string partial_path(const std::string& folder, const std::string& name);
/// Whether a stage named a file in the journal of `folder` and has not renamed it yet: it was killed, or will do so.
bool is_still_coming(const std::string& folder, const std::string& name);

/// The folder that stages fill, and their files in `.shardkit`: a lock, a journal, partial files with their logs,
/// leases, and at the end the marker. Several processes may fill it with the same set at the same time.
class StageTarget {
 public:
  /// Contents of another set.
  struct OtherSet {
    StagedMarker marker;
    bool is_finished = true;
  };
  /// They would be replaced: throws if they must not be.
  using CheckReplace = std::function<void(const OtherSet& other)>;

  StageTarget(io::FileSystem& files, std::string folder);

  /// True for the names, relative to a folder, that a stage uses itself.
  static bool is_own_state(const std::string& name);

  /// True if the folder contains all files of `set` in `expected`, in their version if it is known, and no size,
  /// modification time or inode has changed. Reads no data and changes nothing.
  bool holds(const StagedSetId& set, const std::vector<ExpectedFile>& expected) const;
  std::optional<StagedMarker> marker() const { return find_staged_marker(folder_); }

  /// Creates the folder and joins the processes that fill it with `set`, or takes it over for that set: removes
  /// leftovers of an unfinished copy of another set that `wanted` does not replace, and a wrong marker. Waits while it
  /// is filled with another set. Contents of another set are removed if `check_replace`, which is called while no other
  /// process can work or take a lease, does not throw for replaced_by(). The announced size of the set is 0.
  void join(const StagedSetId& set, const std::vector<StageFile>& wanted, const CheckReplace& check_replace,
            const std::stop_token& stop);

  /// The contents that a copy of `wanted` would replace. Empty if there are none, or if it only adds files and replaces
  /// manifests. `journal`: of this folder.
  std::optional<OtherSet> replaced_by(const StagedSetId& set, const std::vector<StageFile>& wanted,
                                      const StageJournal::State& journal) const;

  /// Ends join() for a stage that is refused or waits: other processes may evict the folder again, or fill it with
  /// another set. Removes what join() created, unless files have come. The lock stays, because a process may be waiting
  /// for it.
  void give_up() noexcept;

  /// Space that `file` already takes on the disk, complete or reserved for its partial file. `journal`: of this folder.
  std::uint64_t bytes_on_disk(const StageFile& file, const StageJournal::State& journal) const;
  /// Bytes of `file` that a stage need not fetch: of a partial file those that its log lists.
  std::uint64_t bytes_arrived(const StageFile& file, const StageJournal::State& journal) const;
  /// The part of these in an incomplete file, of this process or another one.
  std::uint64_t partial_bytes(const StageFile& file) const;

  /// Whether the folder contains the file under its name. An existing file without a journal entry is used if its bytes
  /// are correct; else Error{conflict}. One with a journal entry but other bytes may be replaced. Only after join(),
  /// like the functions below. Thread-safe.
  bool is_in_place(const StageFile& file, const std::stop_token& stop);
  /// Gives durable files their names. Throws Error{conflict} if a file of another program has appeared there. If a name
  /// exists, its bytes are correct; if a record exists, check the name too. Thread-safe.
  void publish(const std::vector<CopiedFile>& batch);

  /// Throws Error{unsupported} if two of the files are one here, because this file system ignores case or the form of
  /// Unicode. Only after join().
  void refuse_meeting_names(const std::vector<StageFile>& wanted);

  /// Throws Error{conflict} if a file that no stage brought has the name of a wanted one or of a manifest, and other
  /// bytes. Reads no file of another size. Also before join().
  void refuse_strangers(const std::vector<ManifestSet>& sets, const std::vector<StageFile>& wanted,
                        const std::stop_token& stop) const;

  /// Makes the names of all staged files durable.
  void sync_names(const std::vector<StageFile>& wanted);

  /// Publishes the manifests of `sets`, if any, then makes all names durable, then publishes the marker. Its `subsets`
  /// include those of the previous marker, as long as they are complete; they are empty if all files of the `whole` set
  /// are.
  void finish(const std::vector<ManifestSet>& sets, StagedMarker marker, const std::vector<StageFile>& wanted,
              const std::vector<std::string>& whole);

  /// Warns of what no stage brought into the folder, shards by name: a loader that opens *.tar would read them as well.
  void warn_of_strangers(Context& context);

  std::string path_of(const std::string& name) const;
  /// staging::partial_path() here, and the path of its part log.
  std::string partial_path(const std::string& name) const;
  std::string part_log_path(const std::string& name) const;
  StageJournal& journal() { return *journal_; }
  const std::string& folder() const { return folder_; }

 private:
  bool has_right_bytes(const StageFile& file, StagedFile known, const std::string& path, const std::stop_token& stop);
  bool is_right_copy(const StageFile& file, const std::string& path, const std::stop_token& stop);
  void check_manifest_name(const ManifestSet& set, const StageJournal::State& journal) const;
  void make_parent(const std::string& name);
  bool take_alone(const StagedSetId& set, const std::vector<StageFile>& wanted, const CheckReplace& check_replace);
  void adopt(const StagedSetId& set, const std::vector<StageFile>& wanted, const CheckReplace& check_replace);
  bool is_there(const std::string& name, const StageJournal::State& state) const;
  bool is_complete(const StageFile& file, const StageJournal::State& journal) const;
  bool all_there(const StageJournal::State& state) const;
  bool all_there_or_coming(const StageJournal::State& state) const;
  void forget_outdated(StageJournal::State& state, const std::vector<StageFile>& wanted);
  void remove_partials(const StageJournal::State& state, const std::set<std::string>* kept);

  io::FileSystem& files_;
  std::string folder_;
  std::optional<io::FolderLock> lock_;
  std::unique_ptr<io::ContainedFolder> contained_;
  std::unique_ptr<StageJournal> journal_;
  std::mutex folders_mutex_;
  std::set<std::string> made_folders_;  ///< below this one, by this process
};

}  // namespace shardkit::staging
