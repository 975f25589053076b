#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "system/probe.hpp"

namespace shardkit::system {

/// Bytes that a process read and wrote, including its children that have ended and been waited for (/proc/PID/io,
/// proc_pid_io(5)).
struct ProcessBytes {
  std::uint64_t asked = 0;         ///< by read calls: from storage, the page cache, pipes and sockets
  std::uint64_t from_storage = 0;  ///< fetched for it from a disk, or from a network file system that counts them
  std::uint64_t to_storage = 0;    ///< that it caused to be written there
};

/// How long a thread was ready to run and waited for a core so far.
struct ThreadWait {
  std::uint64_t thread = 0;
  double seconds = 0;
};

/// A process at a moment (/proc/PID/stat, proc_pid_stat(5)). Includes children that have ended and been waited for, so
/// that the sums over a tree of processes only grow while its processes start and end.
struct ProcessUse {
  std::uint64_t pid = 0;
  std::uint64_t start = 0;     ///< ticks after the machine's start; distinguishes two processes with one number
  double cpu_seconds = 0;      ///< user and system
  double own_cpu_seconds = 0;  ///< without children
  std::uint64_t major_faults = 0;
  std::uint64_t threads = 0;           ///< 0 after it ended
  std::uint64_t blocked_threads = 0;   ///< wait for storage: in uninterruptible sleep (state D), or in FUSE or Lustre
  std::vector<ThreadWait> core_waits;  ///< of each thread (/proc/PID/task/TID/schedstat); empty if the kernel has none
  std::optional<ProcessBytes> bytes;   ///< empty for a process of another user
};

struct ProcessName {
  std::string command;  ///< from the kernel, at most 15 characters
  std::uint64_t start = 0;
};

/// The numbers of all processes that /proc shows.
std::vector<std::uint64_t> process_ids(const Probe& probe);

/// Empty if there is no such process, or it is of another user.
std::optional<ProcessBytes> read_process_bytes(std::uint64_t pid, const Probe& probe);

/// CPU time of the kernel's threads so far, which work for all processes. 0 in a container, which does not see them.
double kernel_cpu_seconds(const Probe& probe);

/// Empty if there is no such process, if it ended and was not waited for yet, or if /proc hides it.
std::optional<ProcessName> find_process(std::uint64_t pid, const Probe& probe);

/// A process and all below it, the process itself first; empty as above. Reads a file of every process of the machine
/// and two of every thread of the tree.
std::vector<ProcessUse> read_process_tree(std::uint64_t pid, const Probe& probe);

/// Processes that wait for storage.
struct StalledJob {
  std::uint64_t pid = 0;  ///< their parent if it is the same program, else the first of them
  std::string command;
  std::uint64_t processes = 0;
};

/// The program with the most processes whose main threads wait for storage; empty if none does, or /proc hides them.
/// Kernel threads do not count. Reads one or two files of every process.
std::optional<StalledJob> find_stalled_job(const Probe& probe);

/// CPUs that a process may use (its affinity); empty if that cannot be read.
std::optional<std::uint64_t> allowed_processors(std::uint64_t pid, const Probe& probe);

}  // namespace shardkit::system
