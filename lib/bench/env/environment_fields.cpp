#include "bench/env/environment.hpp"

namespace shardkit {

void Environment::describe(FieldVisitor& v) {
  v.field({"usable_threads", Unit::count, "cores that this process may keep busy"}, usable_threads);
  v.field({"cpu_limit", Unit::none, "cores that the control group allows"}, cpu_limit);
  v.field({"throttled_periods", Unit::count, "periods in which that limit has cut in so far"}, throttled_periods);
  v.field({"usable_memory", Unit::bytes, "memory that this process may use; 0 when that cannot be seen"},
          usable_memory);
  v.field({"dev_shm", Unit::bytes, "room left in /dev/shm"}, dev_shm);
  v.field({"dev_shm_size", Unit::bytes, "size of /dev/shm"}, dev_shm_size);
  v.field({"gpus", Unit::count, "NVIDIA devices that this process sees"}, gpus);
  v.field({"gpu_driver", Unit::none, "version of the NVIDIA driver"}, gpu_driver);
  v.field({"path", Unit::none, "the data, links followed"}, path);
  v.field({"storage", Unit::none, "what the data lies on"}, storage);
  v.field({"file", Unit::bytes, "size of the data, when the path is a single file"}, file_size);
  std::optional<std::uint64_t> size;
  std::optional<std::uint64_t> free;
  if (space) {
    size = space->total_bytes;
    free = space->free_bytes;
  }
  v.field({"file_system_size", Unit::bytes, "size of that file system"}, size);
  v.field({"file_system_free", Unit::bytes, "room left on it for this user"}, free);
  v.field({"block_device", Unit::none, "block device below it"}, block_device);
  v.field({"nfs", Unit::none, "the mount, when it is of NFS"}, nfs);
  v.field({"lustre", Unit::none, "the mount, when it is of Lustre"}, lustre);
  v.field({"fuse", Unit::none, "the mount, when a program serves it through FUSE"}, fuse);
  v.field({"cpu", Unit::none, "processors of the machine"}, cpu);
  v.field({"control_group", Unit::none, "what the control groups allow"}, control_group);
  v.field({"memory", Unit::none, "memory of the machine and the kernel's settings for it"}, memory);
  v.field({"numa_nodes", Unit::none, "NUMA nodes"}, numa_nodes);
  v.field({"network", Unit::none, "network cards"}, network);
  v.field({"rdma", Unit::none, "ports of RDMA devices"}, rdma);
  v.field({"gpu_devices", Unit::none, "NVIDIA GPUs on the PCI bus, seen by this process or not"}, gpu_devices);
  v.field({"gpu_monitor", Unit::none, "what the GPUs' driver says of them now (NVML)"}, gpu_monitor);
  v.field({"kernel", Unit::none, "what kernel, container and limits let this process do"}, kernel);
  v.field({"hidden", Unit::none, "parts of the machine that cannot be looked at from here"}, hidden);
  v.field({"normal", Unit::none, "rates that are normal for these parts"}, normal);
  v.field({"findings", Unit::none, "what a good engineer would point at, the worst first"}, findings);
}

}  // namespace shardkit
