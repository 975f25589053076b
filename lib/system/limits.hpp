#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/fields.hpp"
#include "system/probe.hpp"

namespace shardkit::system {

/// Threads this process may keep busy: min(affinity mask, max(1, floor(cgroup cpu.max))), cgroup v1 or v2. At least 1.
unsigned usable_threads(const Probe& probe = live_probe());

inline constexpr std::uint64_t kMostThreads = 4096;  ///< that an option may ask for

/// The option --threads; `help` says what they do, and how many there are by default.
constexpr Field threads_field(std::string_view help) {
  return {"threads", Unit::count, help, "N", between(1, kMostThreads)};
}

/// Threads to work with: `asked`, 1 to kMostThreads, when given, else usable_threads().
unsigned thread_count(std::optional<std::uint64_t> asked);

/// Bytes of memory this process may use: min(MemTotal, cgroup memory limit), v1 or v2.
std::uint64_t usable_memory(const Probe& probe = live_probe());

/// Raises the soft limit of open files to the hard one. Programs call it at their start: many reads in flight need a
/// descriptor each, and the usual soft limit of 1024 is kept low only for programs that use select().
void raise_descriptor_limit();

/// File descriptors that this process may hold for bulk work: the soft limit less some for libraries, outputs and
/// standard streams. At least 32, at most 65536.
unsigned usable_descriptors();

/// Reads that may be in flight when each of them holds `descriptors` open files: from half of usable_descriptors(), at
/// least 8, at most 512 (past that no source that we met gets faster).
unsigned most_reads_in_flight(unsigned descriptors);

}  // namespace shardkit::system
