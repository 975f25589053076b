#include "system/cgroup.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "system/mounts.hpp"
#include "system/sys_text.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62U;

template <class T>
void lower(std::optional<T>& limit, std::optional<T> other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

/// This process's path in the hierarchy that carries `controller`, as /proc/self/cgroup has it: "4:memory:/a/b".
/// Version 2 has one hierarchy, "0::/a/b", and an empty controller here.
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

/// The folders to look for limits in, from this process's group up to the mount point. A container that sees only part
/// of the hierarchy has the mount's root cut off its path; a path outside of it leaves the mount point alone.
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

/// "max 100000" or "765000 100000": microseconds of CPU time per period.
std::optional<double> cpus_v2(const Probe& probe, const std::string& folder) {
  const auto text = probe.text(folder + "/cpu.max");
  if (!text) return std::nullopt;
  const auto words = split(*text, ' ');
  if (words.size() != 2) return std::nullopt;
  const auto quota = parse_number(words[0]);
  const auto period = parse_number(words[1]);
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> cpus_v1(const Probe& probe, const std::string& folder) {
  const auto quota = sys_number(probe, folder + "/cpu.cfs_quota_us");  // -1, no number to us, is unlimited
  const auto period = sys_number(probe, folder + "/cpu.cfs_period_us");
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::uint64_t cpu_stat(const Probe& probe, const std::string& folder, std::string_view name) {
  const std::string text = probe.text(folder + "/cpu.stat").value_or("");
  return parse_number(line_value(text, name)).value_or(0);
}

void read_hierarchy(const Probe& probe, const Mount& mount, const std::string& path, bool version2,
                    CgroupLimits& limits) {
  const auto folders = group_folders(mount, path);
  for (const std::string& folder : folders) {
    lower(limits.cpus, version2 ? cpus_v2(probe, folder) : cpus_v1(probe, folder));
    lower(limits.memory_bytes, sys_number(probe, folder + (version2 ? "/memory.max" : "/memory.limit_in_bytes")));
    if (version2) lower(limits.memory_high_bytes, sys_number(probe, folder + "/memory.high"));
  }
  limits.periods = std::max(limits.periods, cpu_stat(probe, folders.front(), "nr_periods "));
  limits.throttled_periods = std::max(limits.throttled_periods, cpu_stat(probe, folders.front(), "nr_throttled "));
}

}  // namespace

CgroupLimits read_cgroup_limits(const Probe& probe) {
  CgroupLimits limits;
  bool one = false;
  bool two = false;
  const std::string groups = probe.text("/proc/self/cgroup").value_or("");
  for (const Mount& mount : read_mounts(probe)) {
    const bool version2 = mount.type == "cgroup2";
    if (!version2 && mount.type != "cgroup") continue;
    (version2 ? two : one) = true;
    const auto controllers =
        version2 ? std::vector<std::string_view>{""} : std::vector<std::string_view>{"cpu", "memory"};
    for (const std::string_view controller : controllers) {
      if (!version2 && !contains(mount.options, controller)) continue;
      if (const auto path = group_path(groups, controller)) read_hierarchy(probe, mount, *path, version2, limits);
    }
  }
  limits.version = one && two ? "1 and 2" : one ? "1" : two ? "2" : "";
  // Version 1 says "none" by the highest multiple of a page below 2^63.
  if (limits.memory_bytes.value_or(0) >= kNoLimit) limits.memory_bytes.reset();
  return limits;
}

}  // namespace shardkit
