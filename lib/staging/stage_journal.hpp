#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/hash.hpp"
#include "formats/stage_records.hpp"
#include "io/file_system.hpp"

/// Names below a staged folder (formats.md, "Staged folder"). All of them are in `.shardkit`.
namespace shardkit::staging {

using formats::kDamagedPin;
using formats::kDeepestStagedFolder;
using formats::kStagedMarkerPath;
using formats::kStageJournalPath;
using formats::StagedCommand;
using formats::StagedFile;
using formats::StagedMarker;
using formats::StagedSetId;
using formats::Verified;

constexpr const char* kStateFolderPath = ".shardkit";
constexpr const char* kStagedMarkerLockPath = ".shardkit/staged.lock";
constexpr const char* kStageLockPath = ".shardkit/stage.lock";
constexpr const char* kPartialFolderPath = ".shardkit/staging";
/// Of a file in it without a final name, and of its log.
constexpr const char* kPartialExtension = ".partial";
constexpr const char* kPartLogExtension = ".parts";
constexpr const char* kLeaseFolderPath = ".shardkit/leases";
/// A byte for each stage that found the set complete and leased it; also the lock with which leases are extended.
constexpr const char* kHitsPath = ".shardkit/leases/.hits";

/// Files of a node cache: its lock, and a line for each eviction.
constexpr const char* kCacheLockName = ".shardkit-cache.lock";
constexpr const char* kEvictionLogName = ".shardkit-cache.log";

/// The marker of the staged folder `folder`; empty if there is none, or a damaged one, which does not count.
std::optional<StagedMarker> find_staged_marker(const std::string& folder);

/// "<inode>-<modification time in ns>" of the regular file at `path`; empty if there is none. Throws Error{denied, io}.
std::string seen_at(const std::string& path);
/// Whether the regular file at `path` is not damaged as far as its size, modification time and inode show.
bool is_unchanged_at(const StagedFile& file, const std::string& path);
/// Size of that file; empty if there is none. Throws like seen_at().
std::optional<std::uint64_t> size_on_disk(const std::string& path);

/// The stage journal of a folder. Several processes append to it. Thread-safe.
class StageJournal {
 public:
  using State = formats::StageJournalState;

  /// The content of the journal at `path`; empty if there is none.
  static State read(const std::string& path);
  /// Replaces the journal at `path` by one with `state`. Requires the exclusive lock of the folder.
  static void rewrite(io::FileSystem& files, const std::string& path, const State& state);

  /// Opens the existing journal at `path` to append to it.
  StageJournal(io::FileSystem& files, std::string path);

  std::optional<StagedFile> find(const std::string& name) const;
  /// Reads what others have appended since.
  void refresh();
  /// Raises the announced bytes of the set, visible to others; never lowers them.
  void announce(std::uint64_t bytes);
  void record(const std::string& name, const StagedFile& file);
  /// Adds the command, unless it is known or a known one copies the whole set.
  void add(const StagedCommand& command);
  /// Makes all records durable.
  void sync();
  /// A copy.
  State state() const;

 private:
  void take_news();
  void append(const std::string& line);

  const std::string path_;
  mutable std::mutex mutex_;
  State state_;
  std::unique_ptr<io::WritableFile> file_;
};

}  // namespace shardkit::staging
