#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "system/probe.hpp"

namespace shardkit {

/// Where a process's control group lies in one mounted hierarchy.
struct CgroupFolders {
  bool version2 = false;
  std::string controller;            ///< of version 1, which has a group for each: "cpu", "memory"; empty for version 2
  std::vector<std::string> folders;  ///< from its own group up to the mount point; never empty
};

/// For each mounted hierarchy that carries one of `controllers` (version 1), and that of version 2. `process` is "self"
/// or a number. Where this process's group lies outside of a mount, as in containers, the mount point stands for it;
/// another group outside of the mount cannot be seen and is left out.
std::vector<CgroupFolders> find_cgroup_folders(const Probe& probe, const std::string& process,
                                               const std::vector<std::string_view>& controllers);

}  // namespace shardkit
