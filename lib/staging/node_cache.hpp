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

/// Taking things out of staged folders. Only files that a folder's journal names, or that lie in a stage's own
/// sub-folders, are ever removed, none through a link, and none while somebody is at work in the folder or leases it.
///
/// A node cache: a folder whose sub-folders are staged folders, which together keep to a limit by evicting those that
/// were not used for longest.
namespace shardkit::staging {

/// Removes the marker first, then all that the journal names, then the journal: after a kill it is a partial copy, from
/// which this or a stage goes on. The lock stays, somebody may be waiting for it. False, with nothing changed, when
/// somebody is at work in the folder, or leases it at `now`. Throws Error{cancelled} between files.
bool evict(io::FileSystem& files, const std::string& folder, system::WallTime now, const std::stop_token& stop);

/// Removes the marker and then these files, which their journal names, so that the next stage brings them again. False,
/// with nothing changed, where evict() would not go.
bool discard(io::FileSystem& files, const std::string& folder, const std::vector<std::string>& names,
             system::WallTime now);

/// Removes the file of that name below a staged folder, as its journal has it, never through a link and never outside.
void remove_staged_file(io::FileSystem& files, const io::ContainedFolder& root, const std::string& name);

struct Leftovers {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;

  Leftovers& operator+=(const Leftovers& more);
};

/// What nobody will use any more: leases that have ended, temporaries of the dead, and, unless somebody leases the
/// folder at `now`, parts of files. Looked for only while nobody is at work there, and with `remove` removed.
Leftovers sweep_leftovers(io::FileSystem& files, const std::string& folder, system::WallTime now, bool remove);

/// What a folder of the cache is going to hold.
struct RoomWanted {
  std::string folder;                  ///< which is not evicted; empty: none, only the limit is to be kept
  std::uint64_t bytes = 0;             ///< in the end, those that it holds already included
  std::optional<std::uint64_t> limit;  ///< of all staged folders of the cache together; empty: the disk alone
};

/// Makes the cache's folder and waits until nobody else is making room in it. Whoever holds this announces in the
/// journal of his folder what he was given, before he lets go.
io::FolderLock lock_cache(io::FileSystem& files, const std::string& root, const std::stop_token& stop);

/// Throws Error{no_space} when make_room() would. Changes nothing, needs no lock; the cache need not be there.
void check_room(const std::string& root, const RoomWanted& wanted, system::WallTime now, const std::stop_token& stop);

/// Evicts staged folders of the cache, those used least recently first, until what is wanted fits in both the limit
/// and the file system. Never one that is leased, at work, or that no source is known of; one that this user may
/// not open or remove is passed over, and named if that makes it fail. Returns what went. For who
/// holds lock_cache(); only his own folder may he have locked.
///
/// Throws Error{no_space}, before anything is evicted, when it cannot fit: with what is held by whom, until when.
std::vector<StagedFolder> make_room(io::FileSystem& files, const std::string& root, const RoomWanted& wanted,
                                    system::WallTime now, const std::stop_token& stop);

/// Whether a folder was evicted; where this user may not do that `refusal` says why.
using Evict = std::function<bool(const std::string& folder, std::string& refusal)>;

/// evict(), false as well where this user may not do that, with what refused it in `refusal`.
bool try_evict(io::FileSystem& files, const std::string& folder, system::WallTime now, const std::stop_token& stop,
               std::string& refusal);

/// Evicts folders by `evict`, those used least recently first, until the others hold no more than `limit`, or no other
/// can go. Each is tried once; those that stay are in use, or beyond this user. Takes those that went out of `folders`
/// and returns them.
std::vector<StagedFolder> evict_to(std::vector<StagedFolder>& folders, std::uint64_t limit, system::WallTime now,
                                   const Evict& evict);

/// Folders to evict to come down to `limit` in all, in that order; fewer when others are in use.
std::vector<StagedFolder> to_evict(std::vector<StagedFolder> folders, std::uint64_t limit, system::WallTime now);

/// True when a folder may be evicted.
bool is_evictable(const StagedFolder& folder, system::WallTime now);

/// Why a folder stays: "'/cache/a' (1.2 GiB) is leased by job-7 until 2026-01-02T03:04:05Z".
std::string describe_use(const StagedFolder& folder, system::WallTime now);

/// The same of all that may not be evicted: of the first five, and how many more there are.
std::string describe_uses(const std::vector<StagedFolder>& folders, system::WallTime now);

/// "; end leases that nobody needs, such as with `shardctl cache release /cache/a --all`": of the first folder that
/// is leased at `now`, whose leases are all in the way. Empty where none is.
std::string release_advice(const std::vector<StagedFolder>& folders, system::WallTime now);

/// Bytes that count against a limit, of all.
std::uint64_t held_bytes(const std::vector<StagedFolder>& folders, system::WallTime now);

}  // namespace shardkit::staging
