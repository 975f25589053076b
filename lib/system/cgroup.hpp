#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/fields.hpp"
#include "system/memory.hpp"
#include "system/probe.hpp"

namespace shardkit::system {

/// What the control groups around this process allow it: the smallest limit from its own group up to the highest that
/// is visible, version 1 or 2 or both (hybrid). Empty members are unlimited.
struct CgroupLimits {
  std::string version;                             ///< "1", "2", "1 and 2"; empty without any
  std::optional<double> cpus;                      ///< cpu.max, or cfs quota over period
  std::optional<std::uint64_t> memory_bytes;       ///< memory.max, or memory.limit_in_bytes
  std::optional<std::uint64_t> memory_high_bytes;  ///< memory.high, above which the group is slowed down
  std::uint64_t periods = 0;                       ///< nr_periods of its own group's cpu.stat so far
  std::uint64_t throttled_periods = 0;             ///< nr_throttled of the same

  void describe(FieldVisitor& v) {
    v.field({"version", "version of the control groups"}, version);
    v.field({"cpus", "cores that they allow"}, cpus);
    v.field({"memory", Unit::bytes, "memory that they allow"}, memory_bytes);
    v.field({"memory_high", Unit::bytes, "memory above which they slow the process down"}, memory_high_bytes);
    v.field({"periods", Unit::count, "periods in which the limit of cores was kept so far"}, periods);
    v.field({"throttled_periods", Unit::count, "those in which it cut in"}, throttled_periods);
  }
};

CgroupLimits read_cgroup_limits(const Probe& probe = live_probe());

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

}  // namespace shardkit::system
