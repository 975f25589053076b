#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/env/finding.hpp"
#include "bench/env/loader_job.hpp"
#include "bench/env/normal_rates.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "gpu/gpu_monitor.hpp"
#include "system/block_device.hpp"
#include "system/cgroup.hpp"
#include "system/cpu.hpp"
#include "system/fuse.hpp"
#include "system/gpu.hpp"
#include "system/kernel.hpp"
#include "system/lustre.hpp"
#include "system/memory.hpp"
#include "system/network.hpp"
#include "system/nfs.hpp"
#include "system/probe.hpp"
#include "system/storage.hpp"

namespace shardkit {

/// What a run has to work with: the machine, what this process may use of it, and what the data lies on.
struct Environment {
  std::uint64_t usable_threads = 0;
  std::optional<double> cpu_limit;
  std::uint64_t throttled_periods = 0;
  std::uint64_t usable_memory = 0;       ///< 0 when nothing tells
  std::optional<std::uint64_t> dev_shm;  ///< free
  std::optional<std::uint64_t> dev_shm_size;
  std::uint64_t gpus = 0;
  std::string gpu_driver;
  std::string path;      ///< of the data, without links; empty when none was named
  StorageFacts storage;  ///< empty without a path
  std::optional<SpaceFacts> space;
  std::optional<std::uint64_t> file_size;  ///< bytes, when the path is a file
  std::optional<BlockDevice> block_device;
  std::optional<NfsFacts> nfs;
  std::optional<LustreFacts> lustre;
  std::optional<FuseFacts> fuse;
  CpuFacts cpu;
  CgroupLimits control_group;
  MemoryFacts memory;
  std::vector<NumaNode> numa_nodes;
  std::vector<NetworkCard> network;
  std::vector<RdmaPort> rdma;
  std::vector<GpuDevice> gpu_devices;
  GpuSight gpu_monitor;
  KernelFacts kernel;
  std::vector<std::string> hidden;  ///< "/proc", "/sys": what could not be read here
  std::vector<NormalRate> normal;
  std::vector<Finding> findings;

  void describe(FieldVisitor& v);
};

/// Looks at this machine and at what `path` lies on, and judges both; `path` is empty when there is no data, `job` when
/// it is not known how the loader is set up. Throws Error{not_found, denied} for a path that is not there, and
/// Error{usage} for one that holds no data by its kind, such as a FIFO.
Environment look_at_environment(const std::string& path, const std::optional<LoaderJob>& job);
/// The same of any machine, and of what the driver of its GPUs says.
Environment look_at_environment(const std::string& path, const std::optional<LoaderJob>& job, const Probe& probe,
                                const GpuSight& gpus = {});

}  // namespace shardkit
