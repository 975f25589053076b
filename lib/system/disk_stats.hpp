#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "system/probe.hpp"

namespace shardkit {

/// A block device's counters since the machine started (/proc/diskstats; Documentation/admin-guide/iostats.rst).
struct DiskCounters {
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  double read_wait_seconds = 0;  ///< summed over the reads, from request to answer
  double queue_seconds = 0;      ///< summed over all requests while they were under way
};

/// Empty for a device without a line there, such as a network file system.
std::optional<DiskCounters> read_disk_counters(const std::string& device, const Probe& probe = live_probe());

}  // namespace shardkit
