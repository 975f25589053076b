#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/watch/watch_options.hpp"
#include "system/mounts.hpp"
#include "system/probe.hpp"
#include "system/storage.hpp"

namespace shardkit {

/// What is watched. It stays what it was at the start: a process is known by its number and its start, data by its
/// mount.
struct WatchTarget {
  std::string path;  ///< links followed; empty without one
  StorageFacts storage;
  std::optional<Mount> nfs_mount;  ///< of the path
  std::optional<std::uint64_t> pid;
  std::uint64_t start = 0;  ///< of the process, in ticks
  std::string command;
  std::optional<std::uint64_t> processors;  ///< that the process may run on
};

/// Throws Error{not_found} for a process that is not there, Error{not_found, denied} for a path that is not, and
/// Error{usage} for one that holds no data by its kind.
WatchTarget find_watch_target(const WatchOptions& options, const Probe& probe);

}  // namespace shardkit
