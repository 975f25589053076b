#include "system/limits.hpp"

#include <algorithm>
#include <limits>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include "core/text.hpp"
#include "system/storage.hpp"

namespace shardkit::system {
namespace {

/// Of version 1, as far as they are looked at.
const std::vector<std::string_view> kControllers{"cpu", "cpuacct", "memory"};

/// The path of a process's control group in one mounted hierarchy.
struct CgroupFolders {
  bool version2 = false;
  std::string controller;            ///< of version 1, which has a group for each: "cpu", "memory"; empty for version 2
  std::vector<std::string> folders;  ///< from its own group up to the mount point; never empty
};

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
/// hierarchy has the mount's root removed from its path; for a path outside of it only the mount point is used.
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

/// For each mounted hierarchy with one of kControllers (version 1), and that of version 2. `process` is "self" or a
/// number. If this process's group is outside of a mount, as in containers, the mount point replaces it; another group
/// outside of the mount is not visible and is left out.
std::vector<CgroupFolders> find_cgroup_folders(const Probe& probe, const std::string& process) {
  std::vector<CgroupFolders> found;
  const std::string own_groups = probe.text("/proc/self/cgroup").value_or("");
  const std::string groups = process == "self" ? own_groups : probe.text("/proc/" + process + "/cgroup").value_or("");
  for (const Mount& mount : read_mounts(probe)) {
    const bool version2 = mount.type == "cgroup2";
    if (!version2 && mount.type != "cgroup") continue;
    for (const std::string_view controller : version2 ? std::vector<std::string_view>{""} : kControllers) {
      const bool carries =
          version2 || std::find(mount.options.begin(), mount.options.end(), controller) != mount.options.end();
      const auto path = carries ? group_path(groups, controller) : std::nullopt;
      if (!path || (is_outside(mount, *path) && path != group_path(own_groups, controller))) continue;
      found.push_back({version2, std::string(controller), group_folders(mount, *path)});
    }
  }
  return found;
}

/// Version 1 expresses "none" by the highest multiple of a page below 2^63.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62U;

std::optional<double> cpus_of(std::optional<std::uint64_t> quota, std::optional<std::uint64_t> period) {
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

/// Cores that only the group of this folder allows; empty if it has no limit of its own.
std::optional<double> cgroup_cpus(const Probe& probe, const std::string& folder, bool version2) {
  if (!version2) {  // -1, no number to us, is unlimited
    return cpus_of(sys_number(probe, folder + "/cpu.cfs_quota_us"), sys_number(probe, folder + "/cpu.cfs_period_us"));
  }
  // "max 100000" or "765000 100000": microseconds of CPU time per period.
  const std::string text = probe.text(folder + "/cpu.max").value_or("");
  const auto words = split(text, ' ');
  return words.size() == 2 ? cpus_of(parse_count(words[0]), parse_count(words[1])) : std::nullopt;
}

std::optional<std::uint64_t> stat_number(const Probe& probe, const std::string& folder, std::string_view name) {
  return parse_count(line_value(probe.text(folder + "/cpu.stat").value_or(""), name));
}

std::optional<double> scaled(std::optional<std::uint64_t> number, double unit) {
  if (!number) return std::nullopt;
  return static_cast<double>(*number) * unit;
}

/// Throttling is counted by the group whose limit it is, which may be a parent's.
void read_limit(const Probe& probe, const CgroupFolders& group, CgroupUse& use) {
  for (const std::string& folder : group.folders) {
    const auto cpus = cgroup_cpus(probe, folder, group.version2);
    if (!cpus || (use.cpu_limit && *use.cpu_limit <= *cpus)) continue;
    use.cpu_limit = cpus;
    use.periods = stat_number(probe, folder, "nr_periods ");
    use.throttled_periods = stat_number(probe, folder, "nr_throttled ");
  }
}

/// The smallest of a file's numbers from the process's own group up.
void lower(const Probe& probe, const CgroupFolders& group, const std::string& file,
           std::optional<std::uint64_t>& least) {
  for (const std::string& folder : group.folders) {
    const auto limit = sys_number(probe, folder + file);
    if (limit && *limit < least.value_or(kNoLimit)) least = limit;
  }
}

void read_memory_of(const Probe& probe, const CgroupFolders& group, CgroupUse& use) {
  lower(probe, group, group.version2 ? "/memory.max" : "/memory.limit_in_bytes", use.memory_limit);
  if (group.version2) lower(probe, group, "/memory.high", use.memory_high);
  const char* const use_file = group.version2 ? "/memory.current" : "/memory.usage_in_bytes";
  if (const auto bytes = sys_number(probe, group.folders.front() + use_file)) use.memory = bytes;
}

void read_version2(const Probe& probe, const CgroupFolders& group, CgroupUse& use) {
  const std::string& own = group.folders.front();
  // If both versions are mounted, the groups of version 1 divide the machine.
  if (!use.cpu_seconds) use.cpu_seconds = scaled(stat_number(probe, own, "usage_usec "), 1e-6);
  use.pressure = read_pressures(probe, own + "/", ".pressure");
}

std::string mounted_versions(const Probe& probe) {
  bool one = false;
  bool two = false;
  for (const Mount& mount : read_mounts(probe)) {
    one = one || mount.type == "cgroup";
    two = two || mount.type == "cgroup2";
  }
  return one && two ? "1 and 2" : one ? "1" : two ? "2" : "";
}

unsigned affinity_threads(const Probe& probe) {
  const std::string status = probe.text("/proc/self/status").value_or("");
  const auto allowed = static_cast<unsigned>(parse_cpu_list(line_value(status, "Cpus_allowed_list:")).size());
  return std::max(1U, allowed != 0 ? allowed : std::thread::hardware_concurrency());
}

}  // namespace

CgroupUse read_cgroup_use(const Probe& probe, const std::string& process) {
  CgroupUse use;
  use.version = mounted_versions(probe);
  for (const CgroupFolders& group : find_cgroup_folders(probe, process)) {
    if (group.version2 || group.controller == "cpu") read_limit(probe, group, use);
    if (group.version2 || group.controller == "memory") read_memory_of(probe, group, use);
    if (group.version2) read_version2(probe, group, use);
    if (group.controller != "cpuacct") continue;
    const auto nanoseconds = sys_number(probe, group.folders.front() + "/cpuacct.usage");
    if (nanoseconds) use.cpu_seconds = scaled(nanoseconds, 1e-9);
  }
  return use;
}

std::optional<std::uint64_t> free_group_memory(const Probe& probe) {
  std::optional<std::uint64_t> least;
  for (const CgroupFolders& group : find_cgroup_folders(probe, "self")) {
    if (!group.version2 && group.controller != "memory") continue;
    const std::string all = group.version2 ? "" : "total_";  // version 1 counts the groups below under other names
    for (const std::string& folder : group.folders) {
      const auto limit = sys_number(probe, folder + (group.version2 ? "/memory.max" : "/memory.limit_in_bytes"));
      const auto used = sys_number(probe, folder + (group.version2 ? "/memory.current" : "/memory.usage_in_bytes"));
      if (!limit || !used || *limit >= kNoLimit) continue;
      const std::string statistics = probe.text(folder + "/memory.stat").value_or("");
      const auto files = [&](const char* name) { return parse_count(line_value(statistics, all + name)).value_or(0); };
      const std::uint64_t kept = *used - std::min(*used, files("active_file ") + files("inactive_file "));
      least = std::min(least.value_or(kNoLimit), *limit - std::min(*limit, kept));
    }
  }
  return least;
}

unsigned usable_threads(const Probe& probe) {
  const unsigned affinity = affinity_threads(probe);
  const auto quota = read_cgroup_use(probe).cpu_limit;
  if (!quota || *quota >= affinity) return affinity;
  return std::max(1U, static_cast<unsigned>(*quota));
}

unsigned thread_count(std::optional<std::uint64_t> asked) {
  return asked ? static_cast<unsigned>(*asked) : usable_threads();
}

std::uint64_t usable_memory(const Probe& probe) {
  const auto memory = read_memory_use(probe);
  const std::uint64_t total = memory ? memory->total : std::numeric_limits<std::uint64_t>::max();
  return std::min(total, read_cgroup_use(probe).memory_limit.value_or(total));
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // fails nowhere that matters: the old limit then stays
}

unsigned usable_descriptors() {
  constexpr rlim_t most = 65536;
  constexpr rlim_t kept_back = 96;
  rlimit limit{};
  const rlim_t soft = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min(limit.rlim_cur, most) : 1024;
  return static_cast<unsigned>(std::max<rlim_t>(soft, kept_back + 32) - kept_back);
}

unsigned most_reads_in_flight(unsigned descriptors) {
  return std::clamp(usable_descriptors() / 2 / descriptors, 8U, 512U);
}

}  // namespace shardkit::system
