#pragma once

#include <optional>
#include <string>

#include "system/probe.hpp"

namespace shardkit {

/// Pressure stall information (Documentation/accounting/psi.rst): for how long tasks waited for a resource so far. The
/// counters are the kernel's `total=`; its averages over 10 s and more are not used.
struct Pressure {
  double some_seconds = 0;  ///< in which at least one task waited
  double full_seconds = 0;  ///< in which all tasks that had something to do waited
};

/// Of /proc/pressure/io, or io.pressure of a control group. Empty where the kernel has none (before 4.20, or not
/// enabled: `psi=1` on the kernel's command line); a missing line `full`, as of cpu before 5.13, is 0.
std::optional<Pressure> read_pressure(const Probe& probe, const std::string& path);

}  // namespace shardkit
