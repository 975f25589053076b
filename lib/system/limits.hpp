#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/fields.hpp"
#include "system/memory.hpp"
#include "system/probe.hpp"

namespace shardkit::system {

/// The limits of a process's control group and its use so far, version 1 or 2 or both (hybrid). Unknown members and
/// missing limits are empty.
struct CgroupUse {
  std::string version;              ///< that are mounted: "1", "2", "1 and 2"; empty without any
  std::optional<double> cpu_limit;  ///< cores, the smallest limit from its own group upwards
  // Of the group that has that limit (cpu.stat); empty without a limit.
  std::optional<std::uint64_t> periods;
  std::optional<std::uint64_t> throttled_periods;
  std::optional<std::uint64_t> memory_limit;  ///< bytes, the smallest limit from its own group upwards
  std::optional<std::uint64_t> memory_high;   ///< the same of memory.high, above which the group is slowed down
  // Of its own group.
  std::optional<double> cpu_seconds;    ///< user and system
  std::optional<std::uint64_t> memory;  ///< bytes, including page cache
  Pressures pressure;                   ///< only in version 2

  /// The limits.
  void describe(FieldList& v) {
    std::uint64_t kept = periods.value_or(0);
    std::uint64_t throttled = throttled_periods.value_or(0);
    v.field({"version", "version of the control groups"}, version);
    v.field({"cpus", "CPU limit, in cores"}, cpu_limit);
    v.field({"memory", Unit::bytes, "memory limit"}, memory_limit);
    v.field({"memory_high", Unit::bytes, "memory above which the process is slowed down"}, memory_high);
    v.field({"periods", Unit::count, "periods of the CPU limit so far"}, kept);
    v.field({"throttled_periods", Unit::count, "periods that were throttled"}, throttled);
  }
};

/// `process` is "self" or a number. All empty for a process whose group is not visible here, such as one of another
/// container.
CgroupUse read_cgroup_use(const Probe& probe = live_probe(), const std::string& process = "self");

/// Bytes that the control groups of this process still allow, counting cached files as free. Empty without a limit.
std::optional<std::uint64_t> free_group_memory(const Probe& probe = live_probe());

/// CPUs available to the process: min(affinity mask, max(1, floor(cgroup cpu.max))), cgroup v1 or v2. At least 1.
unsigned usable_threads(const Probe& probe = live_probe());

inline constexpr std::uint64_t kMostThreads = 4096;  ///< highest value of an option

/// The option -j, --threads; `help` describes their work and their default number.
constexpr Field threads_field(std::string_view help) {
  return {"threads", Unit::count, help, "N", 'j', between(1, kMostThreads)};
}

/// Threads to work with: `asked`, 1 to kMostThreads, if given, else usable_threads().
unsigned thread_count(std::optional<std::uint64_t> asked);

/// Bytes of memory this process may use: min(MemTotal, cgroup memory limit), v1 or v2.
std::uint64_t usable_memory(const Probe& probe = live_probe());

/// Raises the soft limit of open files to the hard one. Programs call it when they start: many reads in flight need a
/// descriptor each, and the usual soft limit of 1024 is low only for programs that use select().
void raise_descriptor_limit();

/// File descriptors that this process may use for bulk work: the soft limit minus some for libraries, outputs and
/// standard streams. At least 32, at most 65536.
unsigned usable_descriptors();

/// Reads that may be in flight if each of them needs `descriptors` open files: from half of usable_descriptors(), at
/// least 8, at most 512 (no source that we measured gets faster with more).
unsigned most_reads_in_flight(unsigned descriptors);

}  // namespace shardkit::system
