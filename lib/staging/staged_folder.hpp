#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "staging/lease.hpp"
#include "staging/stage_journal.hpp"
#include "system/clock.hpp"

/// Staged folders on disk: contents, leases and whether a process works in them. Read-only and without waiting, so
/// folders may be mounted read-only.
namespace shardkit::staging {

enum class StagedState {
  complete,     ///< marked as complete, and its journal contains everything in the marker
  partial,      ///< incomplete, no process works in it
  in_progress,  ///< incomplete, a process works in it
  unreadable,   ///< this user may not read all of it, or when evicting not remove it
};
constexpr auto enum_names(StagedState) {
  return std::to_array<std::string_view>({"complete", "partial", "in_progress", "unreadable"});
}

struct StagedFolder {
  std::string path;
  StagedState state = StagedState::partial;
  bool at_work = false;                 ///< a process holds its lock
  std::string source;                   ///< source of its files; empty if neither marker nor journal has it
  std::vector<StagedCommand> commands;  ///< that copy its files; empty: not known
  std::optional<StagedMarker> marker;   ///< empty: incomplete, or the marker is damaged
  std::uint64_t files = 0;              ///< in the journal; of one that was lost, those that its marker restores
  std::uint64_t bytes = 0;              ///< of these files; those of the marker if none is known
  std::uint64_t found_bytes = 0;        ///< of those that were there before they were staged: they are never removed
  std::uint64_t partial_bytes = 0;      ///< on disk, of files without a final name; also space reserved for them
  std::uint64_t arrived_bytes = 0;      ///< of these files, those that a stage need not fetch again
  std::uint64_t announced = 0;          ///< final size according to its journal
  std::uint64_t lost_files = 0;         ///< that the marker counts, but neither the journal nor what is there tells
  std::uint64_t damaged = 0;            ///< files marked as damaged, until a stage fetches them again
  std::uint64_t hits = 0;               ///< stages that found the set complete and leased it
  /// The newest of: the last stage, the last renewal of a lease, the last read of a file if the mount records that.
  system::WallTime last_used;
  std::vector<LeaseFile> leases;  ///< including expired ones
  std::string fault;              ///< why it is unreadable, or the fault of its marker; empty: none

  std::uint64_t present_bytes() const { return bytes + partial_bytes; }
  /// Bytes that an eviction frees.
  std::uint64_t removable_bytes() const { return present_bytes() - found_bytes; }
  bool is_leased(system::WallTime now) const { return are_live(leases, now); }
  /// Bytes that count towards a limit: for a stage in progress, or one that will be continued, the announced size.
  std::uint64_t held_bytes(system::WallTime now) const;
};

/// The staged folder at `path`; empty if it is not one. A damaged marker counts as none, and so does a journal of which
/// nothing came. If this user may not read it, it is unreadable and contains only what the user may know.
std::optional<StagedFolder> look_at_staged(const std::string& path);

/// All staged folders at most four levels below `root`, and `root` itself, sorted by path, including nested ones.
/// Hidden folders, links and unreadable folders are skipped. Throws Error{not_found} if `root` does not exist,
/// Error{cancelled}.
std::vector<StagedFolder> staged_folders(const std::string& root, const std::stop_token& stop);

/// Marks the folder as most recently used, for the order of eviction; does nothing without permission.
void mark_used(const std::string& folder);

/// Throws Error{unsupported} if `folder`, or the existing part of its path, is on a network file system: file locks and
/// memory maps are not reliable there, and a copy there is not faster. FUSE keeps locks of its network file systems on
/// this machine, so without `evicts`, which needs those of all machines, such a one is only a warning.
void require_local_folder(const std::string& folder, Context& context, bool evicts = false);

}  // namespace shardkit::staging
