#pragma once

#include <cstdint>
#include <string>

namespace shardkit {

/// Threads this process may keep busy: min(affinity mask, max(1, floor(cgroup cpu.max))), cgroup v1 or v2. At least 1.
/// `root` is where /proc and /sys are looked up, for recorded trees in tests.
unsigned usable_threads(const std::string& root = "/");

/// Bytes of memory this process may use: min(MemTotal, cgroup memory limit), v1 or v2.
std::uint64_t usable_memory(const std::string& root = "/");

}  // namespace shardkit
