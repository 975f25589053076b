#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "system/network_storage.hpp"
#include "system/probe.hpp"
#include "system/storage.hpp"

namespace shardkit::bench {

struct WatchOptions;

/// What is watched. It is fixed at the start: a process is identified by its number and start time, data by its mount.
struct WatchTarget {
  std::string path;  ///< with links resolved; empty without a path
  system::StorageFacts storage;
  std::optional<system::Mount> nfs_mount;  ///< of the path
  std::optional<std::uint64_t> pid;
  std::uint64_t start = 0;  ///< of the process, in ticks
  std::string command;
  std::optional<std::uint64_t> processors;  ///< that the process may run on
};

/// Throws Error{not_found} for a missing process, Error{not_found, denied} for a missing path, and Error{usage} for one
/// that contains no data.
WatchTarget find_watch_target(const WatchOptions& options, const system::Probe& probe);

}  // namespace shardkit::bench
