#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash.hpp"
#include "io/file_system.hpp"

/// Names below a staged folder (docs/formats.md, "Staged folder"). All of them lie in `.shardkit`.
///
/// `.shardkit/staged.json`: says that a folder holds a whole, checked copy (docs/formats.md, "Staged marker",
/// version 1). It is published last, so that an interrupted copy never looks finished.
namespace shardkit::staging {

constexpr const char* kStateFolderPath = ".shardkit";
constexpr const char* kStagedMarkerPath = ".shardkit/staged.json";
constexpr const char* kStagedMarkerLockPath = ".shardkit/staged.lock";
constexpr const char* kStageJournalPath = ".shardkit/stage.journal";
constexpr const char* kStageLockPath = ".shardkit/stage.lock";
constexpr const char* kPartialFolderPath = ".shardkit/staging";
constexpr const char* kLeaseFolderPath = ".shardkit/leases";

/// So many folders below a node cache staged folders are looked for.
constexpr int kDeepestStagedFolder = 4;

struct StagedMarker {
  std::string source;       ///< where the files came from
  std::string verified;     ///< "checksum": against a manifest; "size": not at all beyond that
  Hash128 manifest;         ///< XXH3-128 of manifest.json; without one, of the list of names, sizes and versions
  std::uint64_t files = 0;  ///< that the folder holds by now
  std::uint64_t bytes = 0;
  std::vector<std::string> subsets;  ///< what of the set is whole, as "ranks 0-3 of 8 by webdataset"; empty: all of it
  bool operator==(const StagedMarker&) const = default;
};

/// The file's text: JSON, indent 1, newline at the end.
std::string write_staged_marker(const StagedMarker& marker);

/// Parses `text`. Throws Error{corrupt} for anything but a marker of this version. `path` is for messages.
StagedMarker read_staged_marker(std::string_view text, const std::string& path);

/// The marker of the staged folder `folder`; empty where there is none, or a damaged one, which marks nothing.
std::optional<StagedMarker> find_staged_marker(const std::string& folder);

/// The set that a folder is for.
struct StagedSetId {
  Hash128 hash;             ///< StageSet::hash()
  std::uint64_t bytes = 0;  ///< that it will take in the end, as far as is known
  std::string source;

  bool is(const StagedSetId& other) const { return hash == other.hash; }
};

/// A file that is in place.
struct StagedFile {
  std::uint64_t bytes = 0;
  std::string pin;  ///< StageFile::pin() of the bytes
  Hash128 hash;     ///< XXH3-128 of the bytes
  /// It was there before, with the right bytes: somebody else's, which is used and never removed.
  bool found = false;
};

/// What a stage has brought, `.shardkit/stage.journal` (docs/formats.md, "Stage journal"): which set the folder is for,
/// then a line per file that got its name, after its bytes were made durable. Several processes append to it; the last
/// line about a file counts, and one cut by a power cut is left out. Thread-safe.
class StageJournal {
 public:
  struct State {
    std::optional<StagedSetId> set;
    std::map<std::string, StagedFile> files;  ///< by name
    std::uint64_t read = 0;                   ///< bytes of the journal that this state is of
  };

  /// What whole lines of a journal say; takes them into `state`.
  static void take(std::string_view text, State& state);
  /// What the journal at `path` says; nothing where there is none.
  static State read(const std::string& path);
  /// Publishes a journal that says `state` in the place of the one at `path`. Only for who holds the folder alone.
  static void rewrite(io::FileSystem& files, const std::string& path, const State& state);

  /// Opens the journal at `path`, which is there, to append to it.
  StageJournal(io::FileSystem& files, std::string path);

  std::optional<StagedFile> find(const std::string& name) const;
  /// Takes in what others have appended since.
  void refresh();
  /// Raises the bytes that the set will take, for others to see; never lowers them.
  void announce(std::uint64_t bytes);
  void record(const std::string& name, const StagedFile& file);
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
