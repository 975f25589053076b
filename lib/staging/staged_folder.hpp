#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "staging/lease.hpp"
#include "staging/stage_journal.hpp"
#include "system/clock.hpp"

/// Staged folders as they lie on the disk: what each holds, who leases it and whether somebody is at work in it.
/// Nothing here changes anything or waits, so folders may be mounted read-only.
namespace shardkit::staging {

enum class StagedState {
  complete,     ///< marked as a whole copy, and its journal names no less than the marker says
  partial,      ///< not whole, and nobody is at it
  in_progress,  ///< not whole, and somebody is at it
  unreadable,   ///< this user may not look at all of it, or in room making not remove it
};
constexpr auto enum_names(StagedState) {
  return std::to_array<std::string_view>({"complete", "partial", "in_progress", "unreadable"});
}

struct StagedFolder {
  std::string path;
  StagedState state = StagedState::partial;
  bool at_work = false;                ///< somebody holds its lock
  std::string source;                  ///< where its files come back from; empty when neither marker nor journal says
  std::optional<StagedMarker> marker;  ///< empty: not whole, or the marker is damaged
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;          ///< of the files that the journal names
  std::uint64_t partial_bytes = 0;  ///< on disk, of files that have no name yet
  std::uint64_t announced = 0;      ///< bytes that it is to hold in the end, as its journal says
  system::WallTime last_used;       ///< mtime of the marker, else of the journal
  std::vector<LeaseFile> leases;    ///< those that have ended, too
  std::string fault;                ///< why it is unreadable, or what is wrong with its marker; empty: nothing

  std::uint64_t present_bytes() const { return bytes + partial_bytes; }
  bool is_leased(system::WallTime now) const;
  /// Bytes to count against a limit: of a stage under way, or one whose owner is expected back, all that it announced.
  std::uint64_t held_bytes(system::WallTime now) const;
};

/// What lies at `path`; empty when that is no staged folder. A damaged marker counts as none. Where
/// this user may not look it is unreadable and says no more than he may know, not even whether it was ever staged.
std::optional<StagedFolder> look_at_staged(const std::string& path);

/// All staged folders at most four folders below `root`, and `root` itself, by path, those that lie inside of another
/// staged folder, too. Hidden folders, links and folders that may not be read are not looked into. Throws
/// Error{not_found} when there is no folder `root`, Error{cancelled}.
std::vector<StagedFolder> staged_folders(const std::string& root, const std::stop_token& stop);

/// Makes the folder the one used last, for the order of eviction; a mere hint, which does nothing where it may not.
void mark_used(const std::string& folder);

/// Throws Error{unsupported} when `folder`, or the part of its path that exists, lies on a network file system: file
/// locks and memory maps are not reliable there, and a copy there is not faster.
void require_local_folder(const std::string& folder);

}  // namespace shardkit::staging
