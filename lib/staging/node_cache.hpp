#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "io/file_system.hpp"
#include "staging/staged_folder.hpp"
#include "system/clock.hpp"

/// Removes contents of staged folders: only files that a folder's journal lists, or that are in a stage's own
/// subfolders, never through a link, and never while a process works in the folder or leases it.
///
/// A node cache: a folder whose subfolders are staged folders, which together stay below a limit by evicting the least
/// recently used ones.
namespace shardkit::staging {

/// Removes the marker first, then all files of the journal, then the journal: after a kill it is a partial copy, which
/// this or a stage continues. The lock stays, because a process may be waiting for it. False, without a change, if a
/// process works in the folder, or leases it at `now`. Throws Error{cancelled} between files.
bool evict(io::FileSystem& files, const std::string& folder, system::WallTime now, const std::stop_token& stop);

/// Marks these files as damaged in the journal that lists them and removes the marker, so that the next stage fetches
/// them again. Without a lease at `now` they are also removed; otherwise they stay until that stage replaces them.
/// False, without a change, if a process works in the folder.
bool discard(io::FileSystem& files, const std::string& folder, const std::vector<std::string>& names,
             system::WallTime now);

/// Removes the file with that name in the journal of a staged folder, never through a link and never outside.
void remove_staged_file(io::FileSystem& files, const io::ContainedFolder& root, const std::string& name);

struct Leftovers {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;

  Leftovers& operator+=(const Leftovers& more);
};

/// Files that will not be used again: expired leases, temporary files of killed processes, and, unless the folder is
/// leased at `now`, incomplete files. Only searched while no process works there, and with `remove` removed.
Leftovers sweep_leftovers(io::FileSystem& files, const std::string& folder, system::WallTime now, bool remove);

/// Thrown if the space would not be enough even without any other set: waiting does not help.
class NeverFits final : public Error {
 public:
  using Error::Error;
};

/// Space that a folder of the cache needs.
struct SpaceWanted {
  std::string folder;                       ///< folder that is not evicted; empty: none, only the limit applies
  std::uint64_t bytes = 0;                  ///< final size, including existing bytes
  std::optional<std::uint64_t> limit = {};  ///< of all staged folders of the cache together; empty: only the disk
  std::uint64_t new_files = 0;              ///< that the disk must have inodes for
};

/// Creates the cache's folder and waits until no other process evicts in it. The holder announces the assigned bytes in
/// the journal of its folder before it releases the lock.
io::FolderLock lock_cache(io::FileSystem& files, const std::string& root, const std::stop_token& stop);

/// Throws Error{no_space} if evict_for() would. Changes nothing, needs no lock; the cache need not exist.
void check_space(const std::string& root, const SpaceWanted& wanted, system::WallTime now, const std::stop_token& stop);

/// Evicts staged folders of the cache, least recently used first, until the needed bytes fit into both the limit and
/// the file system, and the new files into its inodes. Never one that is leased, in use, or has no known source; one
/// that this user may not open or remove is skipped, and listed in the error if there is not enough space. Requires
/// lock_cache(); the caller may hold only the lock of its own folder. `evicted` is called for each as soon as it is
/// gone.
///
/// Throws Error{no_space}, before anything is evicted, if it cannot fit: with what is leased, by whom and until when.
void evict_for(io::FileSystem& files, const std::string& root, const SpaceWanted& wanted, system::WallTime now,
               const std::stop_token& stop, const std::function<void(const StagedFolder&)>& evicted);

/// evict(), also false if this user may not do that: then the folder becomes unreadable, with the reason as its fault.
/// Adds a line to the log of the cache at `root`, if this user may.
bool try_evict(io::FileSystem& files, const std::string& root, StagedFolder& folder, system::WallTime now,
               const std::stop_token& stop);

/// Evictions of the cache at `root` so far.
std::uint64_t evictions(const std::string& root);

/// Evicts folders with `evict`, least recently used first, until the others have at most `limit` bytes, or no other can
/// be evicted. Each is tried once; those for which it returns false count as in use, unless they became unreadable.
/// Removes the evicted ones from `folders` and returns them.
std::vector<StagedFolder> evict_to(std::vector<StagedFolder>& folders, std::uint64_t limit, system::WallTime now,
                                   const std::function<bool(StagedFolder&)>& evict);

/// Folders to evict to reach `limit` in total, in that order; fewer if others are in use.
std::vector<StagedFolder> to_evict(std::vector<StagedFolder> folders, std::uint64_t limit, system::WallTime now);

/// True if a folder may be evicted, and that frees something.
bool is_evictable(const StagedFolder& folder, system::WallTime now);

/// Why a folder stays: "'/cache/a' (1.2 GiB) is leased by job-7 until 2026-01-02T03:04:05Z and by 2 more", with the
/// lease that ends last.
std::string describe_use(const StagedFolder& folder, system::WallTime now);

/// The same for all of which bytes stay when they are evicted: the first five, and the number of the others.
std::string describe_uses(const std::vector<StagedFolder>& folders, system::WallTime now);

/// "; if that lease is no longer needed, run `shardctl cache release /cache/a --lease-id job-7`": for the lease that
/// describe_use() names, of the first folder that is leased at `now`. Empty if there is none.
std::string release_advice(const std::vector<StagedFolder>& folders, system::WallTime now);

/// "run `shardctl cache release ...`", which ends no other job's lease, or "stop its `cache hold`".
std::string how_to_end(const LeaseFile& lease, const std::string& folder);

/// Bytes that evictions of these folders free.
std::uint64_t freed_bytes(const std::vector<StagedFolder>& evicted);

/// Bytes that count towards a limit, of all.
std::uint64_t held_bytes(const std::vector<StagedFolder>& folders, system::WallTime now);

}  // namespace shardkit::staging
