#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "system/probe.hpp"

namespace shardkit::system {

/// One line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
struct Mount {
  std::string device;  ///< "major:minor"
  std::string root;    ///< which folder of the file system stands at `point`
  std::string point;
  std::string type;                  ///< "ext4", "nfs4", "fuse.sshfs", ...
  std::string source;                ///< "/dev/vda", "server:/export", ...
  std::vector<std::string> options;  ///< of the mount, then those of the file system, none twice
};

/// The mounts that this process sees, in mount order; empty where /proc is not there.
std::vector<Mount> read_mounts(const Probe& probe = live_probe());

/// The mount that an absolute path without links lies on; nullptr when `mounts` is empty. Of two at one place the
/// later hides the earlier.
const Mount* find_mount(const std::vector<Mount>& mounts, const std::string& path);

/// True when `path` is `folder` or lies below it.
bool is_below(const std::string& path, const std::string& folder);

/// Bytes that this user may still write to the file system of `folder`. Throws Error{not_found, denied, io}.
std::uint64_t free_bytes(const std::string& folder);

}  // namespace shardkit::system
