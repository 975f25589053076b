#pragma once

#include <optional>
#include <vector>

#include "bench/watch/watch_target.hpp"
#include "bench/watch/watched_files.hpp"
#include "gpu/gpu_monitor.hpp"
#include "net/clock.hpp"
#include "system/cgroup_use.hpp"
#include "system/cpu_times.hpp"
#include "system/disk_stats.hpp"
#include "system/memory.hpp"
#include "system/nfs.hpp"
#include "system/pressure.hpp"
#include "system/probe.hpp"
#include "system/processes.hpp"

namespace shardkit {

/// A GPU at a moment.
struct GpuSample {
  GpuState state;
  std::optional<double> intake;  ///< bytes per second over its link; asked of GPUs in use alone, as it takes 20 ms each
};

/// Counters and levels at a moment, as the machine tells them. What it does not tell is empty.
struct WatchSample {
  double moment = 0;  ///< seconds on Clock::monotonic()
  WallTime time;
  std::optional<CpuTimes> cpu;
  std::optional<MemoryUse> memory;
  std::optional<Pressure> cpu_pressure;  ///< of the node
  std::optional<Pressure> io_pressure;
  std::optional<Pressure> memory_pressure;
  std::optional<SpaceFacts> dev_shm;
  CgroupUse group;                    ///< of the process, or this program's own
  std::vector<ProcessUse> processes;  ///< the watched one and all below it
  bool process_ended = false;
  std::optional<DiskCounters> disk;
  std::optional<NfsCounters> nfs;
  std::optional<CachedShare> cached;
  std::vector<GpuSample> gpus;
};

/// Whom to ask. They outlive who holds this.
struct WatchSources {
  const Probe& probe;
  Clock& clock;
  const GpuMonitor* gpus = nullptr;  ///< null where there is none
  const WatchedFiles& files;
};

/// Reads only; nothing throws.
WatchSample take_watch_sample(const WatchTarget& target, const WatchSources& sources);

}  // namespace shardkit
