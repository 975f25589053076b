#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shardkit {

/// What the control groups around this process allow it: the smallest limit from its own group up to the highest that
/// is visible, version 1 or 2 or both (hybrid). Empty members are unlimited.
struct CgroupLimits {
  std::optional<double> cpus;                 ///< cpu.max, or cfs quota over period
  std::optional<std::uint64_t> memory_bytes;  ///< memory.max, or memory.limit_in_bytes
  std::uint64_t throttled_periods = 0;        ///< nr_throttled of its own group's cpu.stat so far
};

/// `root`: where /proc and /sys are looked up, for recorded trees in tests.
CgroupLimits read_cgroup_limits(const std::string& root = "/");

}  // namespace shardkit
