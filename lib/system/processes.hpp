#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "system/probe.hpp"

namespace shardkit::system {

/// Bytes that a process read and wrote, and that its children did which it has waited for (/proc/PID/io,
/// proc_pid_io(5)).
struct ProcessBytes {
  std::uint64_t asked = 0;         ///< by read calls: from storage, the page cache, pipes and sockets
  std::uint64_t from_storage = 0;  ///< fetched for it from a disk or a network file system that counts
  std::uint64_t to_storage = 0;    ///< that it made to be written there
};

/// For how long a thread was ready to run and waited for a core so far.
struct ThreadWait {
  std::uint64_t thread = 0;
  double seconds = 0;
};

/// A process at a moment (/proc/PID/stat, proc_pid_stat(5)). What children did whom it has waited for is counted too,
/// so that over a tree of processes the sums only grow while its processes come, end and are waited for.
struct ProcessUse {
  std::uint64_t pid = 0;
  std::uint64_t start = 0;     ///< ticks after the machine's start; tells apart two processes of one number
  double cpu_seconds = 0;      ///< user and system
  double own_cpu_seconds = 0;  ///< without children
  std::uint64_t major_faults = 0;
  std::uint64_t threads = 0;          ///< 0 once it ended
  std::uint64_t blocked_threads = 0;  ///< in uninterruptible sleep (state D): most often they wait for storage
  std::vector<ThreadWait>
      core_waits;  ///< of each thread (/proc/PID/task/TID/schedstat); empty where the kernel has none
  std::optional<ProcessBytes> bytes;  ///< empty for a process of another user
};

struct ProcessName {
  std::string command;  ///< as the kernel has it, at most 15 characters
  std::uint64_t start = 0;
};

/// Empty when there is no such process, when it ended and nobody waited for it yet, or when /proc hides it.
std::optional<ProcessName> find_process(std::uint64_t pid, const Probe& probe);

/// A process and all below it, the process itself first; empty as above. Reads a file of every process of the machine
/// and two of every thread of the tree.
std::vector<ProcessUse> read_process_tree(std::uint64_t pid, const Probe& probe);

/// Processors that a process may run on (its affinity); empty when that cannot be read.
std::optional<std::uint64_t> allowed_processors(std::uint64_t pid, const Probe& probe);

}  // namespace shardkit::system
