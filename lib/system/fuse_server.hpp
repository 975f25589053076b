#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "system/probe.hpp"

namespace shardkit::system {

/// The processes that serve the FUSE file system at `mount_point` (rclone, JuiceFS, gcsfuse, ...): those that have
/// /dev/fuse open, and whose fdinfo names the mount's device (Linux 6.16). On older kernels, the one whose command line
/// names the mount point, or the only one if there is only one FUSE mount. Empty if none can be recognized, as in a
/// container or for another user's process.
std::vector<std::uint64_t> fuse_servers(const std::string& mount_point, const Probe& probe);

}  // namespace shardkit::system
