#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/fields.hpp"
#include "core/hash.hpp"

/// Records of a staged folder, as text (formats.md, "Staged folder"). All of them are in `.shardkit`.
///
/// `.shardkit/staged.json`: marks a folder as a complete, checked copy (formats.md, "Staged marker", version 1).
/// It is published last, so that an interrupted copy never looks finished.
namespace shardkit::formats {

constexpr const char* kStagedMarkerPath = ".shardkit/staged.json";
constexpr const char* kStageJournalPath = ".shardkit/stage.journal";

/// Maximum depth of staged folders below a node cache.
constexpr int kDeepestStagedFolder = 4;

/// What the bytes of a set were compared with, from the least to the most: nothing, after a dry run; only their sizes;
/// all of them at least with the checksum of their store; all shards with a manifest.
enum class Verified { nothing, size, store_checksum, checksum };
constexpr auto enum_names(Verified) {
  return std::to_array<std::string_view>({"", "size", "store_checksum", "checksum"});
}

struct StagedMarker {
  std::string source = {};  ///< source of the files
  Verified verified = Verified::nothing;
  std::string verified_at = {};  ///< RFC 3339: when the last bytes were compared
  Hash128 manifest = {};         ///< XXH3-128 of manifest.json; without one, of the list of names, sizes and versions
  std::uint64_t files = 0;       ///< number of files in the folder
  std::uint64_t bytes = 0;
  std::vector<std::string> subsets =
      {};  ///< complete parts of the set, such as "ranks 0-3 of 8 by webdataset"; empty: all of it
  bool operator==(const StagedMarker&) const = default;
};

/// Passes the members of a sealed JSON file of a staged folder, such as "a lease", to `take`. Throws Error{corrupt} if
/// it has another format or is damaged, also for what `take` misses, Error{unsupported} for another version. `path` is
/// for messages.
void read_state_file(std::string_view text, const std::string& path, const char* what, const char* format,
                     std::uint64_t version, const std::function<void(const nlohmann::ordered_json&)>& take);

/// The file's text: JSON, indent 1, newline at the end.
std::string write_staged_marker(const StagedMarker& marker);

/// Parses `text`. Throws Error{corrupt} for anything but a marker of this version. `path` is for messages.
StagedMarker read_staged_marker(std::string_view text, const std::string& path);

/// The set of a folder.
struct StagedSetId {
  Hash128 hash;             ///< StageSet::hash()
  std::uint64_t bytes = 0;  ///< final size, as far as known
  std::string source;

  bool is(const StagedSetId& other) const { return hash == other.hash; }
};

/// What a stage was asked to copy, as shell words for the same command. Empty operands: they are not known, because
/// messages do not show their secrets, or there are too many.
struct StagedCommand {
  std::string sources;    ///< operands, absolute paths and addresses
  std::string options;    ///< that choose files and their store
  bool is_whole = false;  ///< all files of the set
  bool operator==(const StagedCommand&) const = default;
};

/// Replaces the pin of a file that has wrong bytes.
constexpr std::string_view kDamagedPin = "damaged";

/// A complete file.
struct StagedFile {
  std::uint64_t bytes = 0;
  std::string pin;  ///< StageFile::pin() of the bytes
  Hash128 hash;     ///< XXH3-128 of the bytes
  /// It existed before with the correct bytes: it belongs to others, is used and never removed.
  bool found = false;
  /// seen_at() when its bytes were known to be these; empty: they have to be read to know.
  std::string seen = {};

  /// `cache check` found other bytes: the next stage fetches it again.
  bool is_damaged() const { return pin == kDamagedPin; }
};

/// What a stage journal says, `.shardkit/stage.journal` (formats.md, "Stage journal"): the set of the folder, then a
/// line per file that got its name, after its bytes were made durable. The last line about a file counts, and a line
/// per command. A line that was cut or has changed does not count, and the files before it have to be read again,
/// because it may be about any of them.
struct StageJournalState {
  std::optional<StagedSetId> set;
  std::map<std::string, StagedFile> files;  ///< by name
  /// Commands whose files the folder has or will have; only one of the whole set. Empty: not known.
  std::vector<StagedCommand> commands = {};
  std::uint64_t read = 0;  ///< bytes of the journal that this state reflects
  bool is_newer = false;   ///< a later version wrote it

  /// Adds whole lines of a journal.
  void take(std::string_view text);
  /// Adds the command, unless it is known or a known one copies the whole set; false if nothing was added.
  bool add(StagedCommand command);
  /// A journal with this state.
  std::string text() const;
};

/// The lines of a journal.
std::string journal_line(const StagedSetId& set);
std::string journal_line(const std::string& name, const StagedFile& file);
std::string journal_line(const StagedCommand& command);

}  // namespace shardkit::formats
