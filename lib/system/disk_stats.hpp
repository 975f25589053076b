#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "system/probe.hpp"

namespace shardkit {

/// A block device's counters since the machine started (/proc/diskstats; Documentation/admin-guide/iostats.rst). The
/// kernel keeps its milliseconds in 32 bits: all seconds wrap after 49 days of them.
struct DiskCounters {
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  double read_wait_seconds = 0;  ///< summed over the reads, from request to answer
  double queue_seconds = 0;      ///< summed over all requests while they were under way
  std::uint64_t writes = 0;
  std::uint64_t written_bytes = 0;
  double write_wait_seconds = 0;  ///< as of reads
  double busy_seconds = 0;        ///< in which at least one request was under way
};

/// Empty for a device without a line there, such as a network file system.
std::optional<DiskCounters> read_disk_counters(const std::string& device, const Probe& probe = live_probe());

}  // namespace shardkit
