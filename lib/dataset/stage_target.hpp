#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "dataset/stage_journal.hpp"
#include "dataset/stage_set.hpp"
#include "formats/staged_marker.hpp"
#include "io/folder_lock.hpp"

namespace shardkit {

/// The folder that a stage fills, and what it keeps there in `.shardkit`: a lock, a journal, partial files, and at the
/// end the marker.
class StageTarget {
 public:
  StageTarget(FileSystem& files, std::string folder);

  /// True for the names, relative to a folder, that a stage keeps for itself.
  static bool is_own_state(const std::string& name);

  /// The marker when the folder holds the whole set of that hash: every file is there with its size, and so are the
  /// indexes `foreign`, in their version where they have one. Reads no data and changes nothing.
  std::optional<StagedMarker> complete(const Hash128& hash, const std::vector<ObjectInfo>& foreign) const;

  /// Makes the folder and waits until it is ours alone; held as long as this object lives.
  void lock(const std::stop_token& stop);

  /// Takes the folder for `wanted`: refuses one with a finished copy of another set by Error{conflict}, removes what an
  /// unfinished one left and these files do not replace. From then on no marker stands.
  void adopt(const Hash128& hash, const std::vector<StageFile>& wanted);

  /// Bytes of `file` that are in place or in its partial file, for the reckoning of room.
  std::uint64_t bytes_present(const StageFile& file) const;

  /// Publishes `manifest_text`, if any, then makes everything durable, then publishes the marker.
  void finish(const std::string& manifest_text, const StagedMarker& marker, const std::vector<StageFile>& wanted);

  std::string path_of(const std::string& name) const;
  /// Where a file is gathered before it gets its name.
  std::string partial_path(const std::string& name) const;
  StageJournal& journal() { return *journal_; }
  const std::string& folder() const { return folder_; }

 private:
  std::string state_path(const char* name) const;
  std::optional<StagedMarker> marker() const;
  void remove_outdated(const std::vector<StageFile>& wanted);

  FileSystem& files_;
  std::string folder_;
  std::optional<FolderLock> lock_;
  std::unique_ptr<StageJournal> journal_;
};

/// Size of the file at `path`; empty when there is none.
std::optional<std::uint64_t> size_on_disk(const std::string& path);

}  // namespace shardkit
