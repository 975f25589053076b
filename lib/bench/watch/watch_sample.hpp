#pragma once

#include <optional>
#include <vector>

#include "bench/watch/watch_target.hpp"
#include "bench/watch/watched_files.hpp"
#include "core/fields.hpp"
#include "gpu/gpu_monitor.hpp"
#include "system/block_device.hpp"
#include "system/clock.hpp"
#include "system/cpu.hpp"
#include "system/limits.hpp"
#include "system/memory.hpp"
#include "system/network_storage.hpp"
#include "system/probe.hpp"
#include "system/processes.hpp"

/// Counters and levels of a machine. Values that are not available are empty, never 0.
namespace shardkit::bench {

/// A GPU at one moment.
struct GpuRow {
  gpu::GpuState state;
  std::optional<double>
      intake;  ///< bytes per second over its link; read only for GPUs in use, because it takes 20 ms each

  void describe(FieldList& v);
};

inline constexpr double kGpuInUse = 0.05;  ///< share of its time busy, or of its memory in use
/// A GPU in use: it computes, or its memory is in use.
bool is_in_use(const gpu::GpuState& gpu);

/// Received bytes as share of the current rate of its link; empty if the driver does not report both.
std::optional<double> link_use(const GpuRow& gpu);

/// Counters and levels at one moment. Empty if not available.
struct WatchSample {
  double moment = 0;  ///< seconds on Clock::monotonic()
  system::WallTime time;
  std::optional<system::CpuTimes> cpu;
  std::optional<system::MemoryUse> memory;
  system::Pressures pressure;  ///< of the node
  std::optional<system::SpaceFacts> dev_shm;
  system::CgroupUse group;                    ///< of the process, or of iobench itself
  std::vector<system::ProcessUse> processes;  ///< the watched process and its descendants
  bool process_ended = false;
  std::optional<system::StalledJob> stalled;  ///< if the whole node is watched
  std::optional<system::DiskCounters> disk;
  std::optional<system::NfsCounters> nfs;
  std::optional<double> cached;  ///< share of some files of the data
  std::vector<GpuRow> gpus;
};

/// Sources of samples. They outlive their users.
struct WatchSources {
  const system::Probe& probe;
  system::Clock& clock;
  const gpu::GpuMonitor* gpus = nullptr;  ///< null without one
  const WatchedFiles& files;
};

/// Only reads; never throws.
WatchSample take_watch_sample(const WatchTarget& target, const WatchSources& sources);

}  // namespace shardkit::bench
