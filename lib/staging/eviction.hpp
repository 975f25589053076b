#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "io/contained_folder.hpp"
#include "io/file_system.hpp"
#include "net/clock.hpp"

/// Taking things out of staged folders. Only files that a folder's journal names, or that lie in a stage's own
/// sub-folders, are ever removed, none through a link, and none while somebody is at work in the folder or leases it.
namespace shardkit {

/// Removes the marker first, then all that the journal names, then the journal: after a kill it is a partial copy, from
/// which this or a stage goes on. The lock stays, somebody may be waiting for it. False, with nothing changed, when
/// somebody is at work in the folder, or leases it at `now`. Throws Error{cancelled} between files.
bool evict(FileSystem& files, const std::string& folder, WallTime now, const std::stop_token& stop);

/// Removes the marker and then these files, which their journal names, so that the next stage brings them again. False,
/// with nothing changed, where evict() would not go.
bool discard(FileSystem& files, const std::string& folder, const std::vector<std::string>& names, WallTime now);

/// Removes the file of that name below a staged folder, as its journal has it, never through a link and never outside.
void remove_staged_file(FileSystem& files, const ContainedFolder& root, const std::string& name);

struct Leftovers {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;

  Leftovers& operator+=(const Leftovers& more);
};

/// What nobody will use any more: leases that have ended, temporaries of the dead, and, unless somebody leases the
/// folder at `now`, parts of files. Looked for only while nobody is at work there, and with `remove` removed.
Leftovers sweep_leftovers(FileSystem& files, const std::string& folder, WallTime now, bool remove);

}  // namespace shardkit
