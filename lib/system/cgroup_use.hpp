#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "system/pressure.hpp"
#include "system/probe.hpp"

namespace shardkit {

/// What a process's control group has used so far, version 1 or 2. Members that it does not tell are empty.
struct CgroupUse {
  std::optional<double> cpu_limit;  ///< cores, the smallest limit from its own group up
  // Of the group that has that limit (cpu.stat); empty without a limit.
  std::optional<std::uint64_t> periods;
  std::optional<std::uint64_t> throttled_periods;
  // Of its own group.
  std::optional<double> cpu_seconds;          ///< user and system
  std::optional<std::uint64_t> memory;        ///< bytes, page cache among them
  std::optional<std::uint64_t> memory_limit;  ///< bytes, the smallest limit from its own group up
  std::optional<Pressure> cpu_pressure;       ///< of version 2 alone
  std::optional<Pressure> io_pressure;
  std::optional<Pressure> memory_pressure;
};

/// `process` is "self" or a number. All empty for a process whose group cannot be seen from here, as that of another
/// container.
CgroupUse read_cgroup_use(const Probe& probe, const std::string& process);

}  // namespace shardkit
