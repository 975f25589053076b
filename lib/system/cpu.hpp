#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "system/probe.hpp"

namespace shardkit::system {

/// The CPUs of the machine, and those that this process may use.
struct CpuFacts {
  std::string model;
  std::uint64_t processors = 0;  ///< online, as in os.cpu_count()
  std::uint64_t affinity = 0;    ///< those that this process may use
  std::string affinity_list;     ///< "0-47,96-143"
  std::optional<std::uint64_t> sockets;
  std::optional<std::uint64_t> cores;             ///< without their hardware threads
  std::optional<std::uint64_t> threads_per_core;  ///< the highest of any core
  std::string frequency_driver;  ///< "acpi-cpufreq", "intel_pstate"; empty if the kernel does not control the frequency
  std::string governor;          ///< of the first CPU; "mixed" if others differ
  std::string energy_preference;  ///< of drivers that choose the frequency themselves: "performance", "power", ...
  std::optional<std::uint64_t> min_hertz;
  std::optional<std::uint64_t> max_hertz;

  void describe(FieldList& v) {
    v.field({"model", "model of the processor"}, model);
    v.field({"processors", Unit::count, "processors online, like os.cpu_count()"}, processors);
    v.field({"affinity", Unit::count, "processors that the process may run on"}, affinity);
    v.field({"affinity_list", "list of these processors"}, affinity_list);
    v.field({"sockets", Unit::count, "sockets"}, sockets);
    v.field({"cores", Unit::count, "cores, without their hardware threads"}, cores);
    v.field({"threads_per_core", Unit::count, "hardware threads of a core"}, threads_per_core);
    v.field({"frequency_driver", "driver that sets the clock; empty if host or firmware do"}, frequency_driver);
    v.field({"governor", "rule by which it is set"}, governor);
    v.field({"energy_preference", "energy preference, for drivers that choose the clock themselves"},
            energy_preference);
    v.field({"min_hertz", "lowest clock allowed"}, min_hertz);
    v.field({"max_hertz", "highest clock allowed"}, max_hertz);
  }
};

CpuFacts read_cpu(const Probe& probe = live_probe());

/// How the machine's CPUs were used since it started (/proc/stat, proc_stat(5)). Seconds are summed over CPUs.
struct CpuTimes {
  std::uint64_t processors = 0;
  double busy_seconds = 0;    ///< all except idle and waiting; time taken by a hypervisor counts as busy
  double total_seconds = 0;   ///< of all kinds
  double stolen_seconds = 0;  ///< that a hypervisor gave to others
  double interrupt_seconds = 0;
  std::uint64_t blocked = 0;  ///< tasks that wait for input or output at this moment
};

/// The unit of /proc/stat and /proc/PID/stat: USER_HZ, which is 100 on every supported architecture.
inline constexpr double kClockTick = 0.01;

/// Of all CPUs, or only of `some`. Empty if /proc is not available.
std::optional<CpuTimes> read_cpu_times(const Probe& probe, const std::vector<unsigned>& some = {});

}  // namespace shardkit::system
