#include "system/cgroup_folders.hpp"

#include <algorithm>
#include <optional>

#include "system/mounts.hpp"
#include "system/sys_text.hpp"

namespace shardkit {
namespace {

/// A process's path in the hierarchy that carries `controller`, as /proc/PID/cgroup has it: "4:memory:/a/b". Version 2
/// has one hierarchy, "0::/a/b", and an empty controller here.
std::optional<std::string> group_path(const std::string& text, std::string_view controller) {
  for (const auto line : split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto names = split(controllers, ',');
    if (controller.empty() ? controllers.empty() : std::find(names.begin(), names.end(), controller) != names.end()) {
      return std::string(line.substr(second + 1));
    }
  }
  return std::nullopt;
}

/// The folders to look for limits in, from the group up to the mount point. A container that sees only part of the
/// hierarchy has the mount's root cut off its path; a path outside of it leaves the mount point alone.
std::vector<std::string> group_folders(const Mount& mount, const std::string& path) {
  std::string below;
  if (is_below(path, mount.root)) below = mount.root == "/" ? path : path.substr(mount.root.size());
  if (below.find("/..") != std::string::npos) below.clear();
  while (below.ends_with('/')) below.pop_back();
  std::vector<std::string> folders;
  while (!below.empty()) {
    folders.push_back(mount.point + below);
    below.erase(below.rfind('/'));
  }
  folders.push_back(mount.point);
  return folders;
}

bool is_outside(const Mount& mount, const std::string& path) {
  return !is_below(path, mount.root) || path.find("/..") != std::string::npos;
}

}  // namespace

std::vector<CgroupFolders> find_cgroup_folders(const Probe& probe, const std::string& process,
                                               const std::vector<std::string_view>& controllers) {
  std::vector<CgroupFolders> found;
  const std::string own_groups = probe.text("/proc/self/cgroup").value_or("");
  const std::string groups = process == "self" ? own_groups : probe.text("/proc/" + process + "/cgroup").value_or("");
  for (const Mount& mount : read_mounts(probe)) {
    const bool version2 = mount.type == "cgroup2";
    if (!version2 && mount.type != "cgroup") continue;
    for (const std::string_view controller : version2 ? std::vector<std::string_view>{""} : controllers) {
      const bool carries =
          version2 || std::find(mount.options.begin(), mount.options.end(), controller) != mount.options.end();
      const auto path = carries ? group_path(groups, controller) : std::nullopt;
      if (!path || (is_outside(mount, *path) && path != group_path(own_groups, controller))) continue;
      found.push_back({version2, std::string(controller), group_folders(mount, *path)});
    }
  }
  return found;
}

}  // namespace shardkit
