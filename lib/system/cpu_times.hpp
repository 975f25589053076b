#pragma once

#include <cstdint>
#include <optional>

#include "system/probe.hpp"

namespace shardkit {

/// What the machine's processors did since it started (/proc/stat, proc_stat(5)). Seconds are summed over processors.
struct CpuTimes {
  std::uint64_t processors = 0;
  double busy_seconds = 0;    ///< all but idle and waiting; what a hypervisor took counts as busy
  double total_seconds = 0;   ///< of all kinds
  double stolen_seconds = 0;  ///< that a hypervisor gave to others
  std::uint64_t blocked = 0;  ///< tasks that wait for input or output, at this moment
};

/// The unit of /proc/stat and /proc/PID/stat: USER_HZ, which every architecture that we run on has at 100.
inline constexpr double kClockTick = 0.01;

/// Empty where /proc does not tell.
std::optional<CpuTimes> read_cpu_times(const Probe& probe);

}  // namespace shardkit
