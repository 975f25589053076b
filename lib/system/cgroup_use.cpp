#include "system/cgroup_use.hpp"

#include "system/cgroup.hpp"
#include "system/cgroup_folders.hpp"
#include "system/sys_text.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62U;  // version 1 says "none" by a number near 2^63

std::optional<std::uint64_t> stat_number(const Probe& probe, const std::string& folder, std::string_view name) {
  return parse_number(line_value(probe.text(folder + "/cpu.stat").value_or(""), name));
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

void read_memory_of(const Probe& probe, const CgroupFolders& group, CgroupUse& use) {
  const char* const limit_file = group.version2 ? "/memory.max" : "/memory.limit_in_bytes";
  for (const std::string& folder : group.folders) {
    const auto limit = sys_number(probe, folder + limit_file);
    if (limit && *limit < kNoLimit && *limit < use.memory_limit.value_or(kNoLimit)) use.memory_limit = limit;
  }
  const char* const use_file = group.version2 ? "/memory.current" : "/memory.usage_in_bytes";
  if (const auto bytes = sys_number(probe, group.folders.front() + use_file)) use.memory = bytes;
}

void read_version2(const Probe& probe, const CgroupFolders& group, CgroupUse& use) {
  const std::string& own = group.folders.front();
  // Where both versions are mounted the groups of version 1 are the ones that divide the machine.
  if (!use.cpu_seconds) use.cpu_seconds = scaled(stat_number(probe, own, "usage_usec "), 1e-6);
  use.cpu_pressure = read_pressure(probe, own + "/cpu.pressure");
  use.io_pressure = read_pressure(probe, own + "/io.pressure");
  use.memory_pressure = read_pressure(probe, own + "/memory.pressure");
}

}  // namespace

CgroupUse read_cgroup_use(const Probe& probe, const std::string& process) {
  CgroupUse use;
  for (const CgroupFolders& group : find_cgroup_folders(probe, process, {"cpu", "cpuacct", "memory"})) {
    if (group.version2 || group.controller == "cpu") read_limit(probe, group, use);
    if (group.version2 || group.controller == "memory") read_memory_of(probe, group, use);
    if (group.version2) read_version2(probe, group, use);
    if (group.controller != "cpuacct") continue;
    const auto nanoseconds = sys_number(probe, group.folders.front() + "/cpuacct.usage");
    if (nanoseconds) use.cpu_seconds = scaled(nanoseconds, 1e-9);
  }
  return use;
}

}  // namespace shardkit
