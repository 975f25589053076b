#include "system/cgroup.hpp"

#include <algorithm>
#include <string_view>

#include "system/cgroup_folders.hpp"
#include "system/mounts.hpp"
#include "system/sys_text.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62U;

template <class T>
void lower(std::optional<T>& limit, std::optional<T> other) {
  if (other && (!limit || *other < *limit)) limit = other;
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

void read_hierarchy(const Probe& probe, const CgroupFolders& group, CgroupLimits& limits) {
  for (const std::string& folder : group.folders) {
    lower(limits.cpus, cgroup_cpus(probe, folder, group.version2));
    lower(limits.memory_bytes, sys_number(probe, folder + (group.version2 ? "/memory.max" : "/memory.limit_in_bytes")));
    if (group.version2) lower(limits.memory_high_bytes, sys_number(probe, folder + "/memory.high"));
  }
  const std::string& own = group.folders.front();
  limits.periods = std::max(limits.periods, cpu_stat(probe, own, "nr_periods "));
  limits.throttled_periods = std::max(limits.throttled_periods, cpu_stat(probe, own, "nr_throttled "));
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

}  // namespace

std::optional<double> cgroup_cpus(const Probe& probe, const std::string& folder, bool version2) {
  return version2 ? cpus_v2(probe, folder) : cpus_v1(probe, folder);
}

CgroupLimits read_cgroup_limits(const Probe& probe) {
  CgroupLimits limits;
  for (const CgroupFolders& group : find_cgroup_folders(probe, "self", {"cpu", "memory"})) {
    read_hierarchy(probe, group, limits);
  }
  limits.version = mounted_versions(probe);
  // Version 1 says "none" by the highest multiple of a page below 2^63.
  if (limits.memory_bytes.value_or(0) >= kNoLimit) limits.memory_bytes.reset();
  return limits;
}

}  // namespace shardkit
