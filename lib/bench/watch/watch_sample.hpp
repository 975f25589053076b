#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "gpu/gpu_monitor.hpp"
#include "io/file.hpp"
#include "system/block_device.hpp"
#include "system/clock.hpp"
#include "system/cpu.hpp"
#include "system/limits.hpp"
#include "system/memory.hpp"
#include "system/network_storage.hpp"
#include "system/probe.hpp"
#include "system/processes.hpp"
#include "system/storage.hpp"

namespace shardkit::bench {

struct WatchOptions;

/// What is watched. It stays what it was at the start: a process is known by its number and its start, data by its
/// mount.
struct WatchTarget {
  std::string path;  ///< links followed; empty without one
  system::StorageFacts storage;
  std::optional<system::Mount> nfs_mount;  ///< of the path
  std::optional<std::uint64_t> pid;
  std::uint64_t start = 0;  ///< of the process, in ticks
  std::string command;
  std::optional<std::uint64_t> processors;  ///< that the process may run on
};

/// Throws Error{not_found} for a process that is not there, Error{not_found, denied} for a path that is not, and
/// Error{usage} for one that holds no data by its kind.
WatchTarget find_watch_target(const WatchOptions& options, const system::Probe& probe);

/// Some files of the watched data, open for as long as they are watched, so that a look at them costs neither lookups
/// nor requests to a server: at most 64 and 4 GiB, taken evenly from the first 4096 entries that a walk meets. A look
/// visits each cached page of them. One thread at a time.
class WatchedFiles {
 public:
  /// A file, or a folder with files at any depth. What cannot be opened or is larger than all may be together is left
  /// out; nothing throws.
  explicit WatchedFiles(const std::string& path);
  /// None.
  WatchedFiles() = default;

  std::size_t count() const { return files_.size(); }
  /// What share of their bytes lies in the page cache. Empty without files, and where the system does not tell this
  /// user (io/page_cache.hpp).
  std::optional<double> look() const;

 private:
  std::vector<io::File> files_;
};

/// A GPU at a moment.
struct GpuRow {
  gpu::GpuState state;
  std::optional<double> intake;  ///< bytes per second over its link; asked of GPUs in use alone, as it takes 20 ms each

  void describe(FieldVisitor& v);
};

/// Counters and levels at a moment, as the machine tells them. What it does not tell is empty.
struct WatchSample {
  double moment = 0;  ///< seconds on Clock::monotonic()
  system::WallTime time;
  std::optional<system::CpuTimes> cpu;
  std::optional<system::MemoryUse> memory;
  system::Pressures pressure;  ///< of the node
  std::optional<system::SpaceFacts> dev_shm;
  system::CgroupUse group;                    ///< of the process, or this program's own
  std::vector<system::ProcessUse> processes;  ///< the watched one and all below it
  bool process_ended = false;
  std::optional<system::DiskCounters> disk;
  std::optional<system::NfsCounters> nfs;
  std::optional<double> cached;  ///< share of some files of the data
  std::vector<GpuRow> gpus;
};

/// Whom to ask. They outlive who holds this.
struct WatchSources {
  const system::Probe& probe;
  system::Clock& clock;
  const gpu::GpuMonitor* gpus = nullptr;  ///< null where there is none
  const WatchedFiles& files;
};

/// Reads only; nothing throws.
WatchSample take_watch_sample(const WatchTarget& target, const WatchSources& sources);

}  // namespace shardkit::bench
