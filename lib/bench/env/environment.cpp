#include "bench/env/environment.hpp"

#include <algorithm>
#include <limits>

#include "bench/env/findings.hpp"
#include "core/error.hpp"
#include "system/limits.hpp"
#include "system/mounts.hpp"

namespace shardkit {
namespace {

/// Data is read from files, folders and block devices; anything else would block or has none.
void check_kind(const std::string& path, const std::optional<PathFacts>& facts) {
  if (!facts || facts->kind != PathFacts::Kind::other) return;
  throw Error(ErrorCode::usage,
              "'" + path +
                  "' is a FIFO, socket or character device, which holds no data; give a folder, a file or a "
                  "block device",
              path);
}

void look_at_path(const std::string& path, const Probe& probe, Environment& environment) {
  environment.storage = storage_of(path, probe);
  environment.path = probe.resolve(path).value_or(path);
  const auto facts = probe.stat(environment.path);
  check_kind(environment.path, facts);
  if (facts && facts->kind == PathFacts::Kind::file) environment.file_size = facts->size;
  environment.space = probe.space(environment.path);
  if (environment.storage.mount_point.empty() && !environment.storage.device.empty()) {  // the path is a device
    environment.block_device = read_block_device(probe, "/sys/class/block/" + environment.storage.device);
    environment.space.reset();
  }
  const auto mounts = read_mounts(probe);
  const Mount* mount = find_mount(mounts, environment.path);
  if (mount == nullptr || environment.storage.mount_point.empty()) return;
  if (auto device = device_of(*mount, probe); !device.name.empty()) environment.block_device = std::move(device);
  if (mount->type.starts_with("nfs")) environment.nfs = read_nfs(*mount, probe);
  if (mount->type == "lustre") environment.lustre = read_lustre(*mount, environment.path, probe);
  if (environment.storage.storage_class == StorageClass::fuse) environment.fuse = read_fuse(*mount, probe);
}

void look_at_limits(const Probe& probe, Environment& environment) {
  environment.usable_threads = usable_threads(probe);
  environment.control_group = read_cgroup_limits(probe);
  environment.cpu_limit = environment.control_group.cpus;
  environment.throttled_periods = environment.control_group.throttled_periods;
  const std::uint64_t memory = usable_memory(probe);
  environment.usable_memory = memory == std::numeric_limits<std::uint64_t>::max() ? 0 : memory;
  if (const auto space = probe.space("/dev/shm")) {
    environment.dev_shm = space->free_bytes;
    environment.dev_shm_size = space->total_bytes;
  }
}

/// What the driver says of GPUs beside what /sys does, or of those that /sys does not show, as in many containers.
void add_drivers_word(const GpuSight& sight, std::vector<GpuDevice>& devices) {
  for (const GpuState& gpu : sight.gpus) {
    auto device = std::ranges::find(devices, gpu.pci_address, [](const GpuDevice& d) { return d.pcie.address; });
    if (device == devices.end()) device = devices.insert(device, {gpu.name, "nvidia", {}});
    if (!gpu.name.empty()) device->model = gpu.name;
    device->pcie = driver_link(gpu, device->pcie);
  }
}

void look_at_gpus_of(const Probe& probe, const GpuSight& sight, Environment& environment) {
  GpuPresence gpus = find_gpus(probe);
  add_drivers_word(sight, gpus.bus);
  environment.gpus = std::max<std::uint64_t>(gpus.devices, sight.gpus.size());
  environment.gpu_driver = gpus.driver_version.empty() ? sight.driver_version : gpus.driver_version;
  environment.gpu_devices = std::move(gpus.bus);
  environment.gpu_monitor = sight;
}

void look_at_devices(const Probe& probe, Environment& environment) {
  environment.cpu = read_cpu(probe);
  environment.memory = read_memory(probe);
  environment.numa_nodes = read_numa_nodes(probe);
  environment.network = read_network_cards(probe);
  environment.rdma = read_rdma_ports(probe);
  environment.kernel = read_kernel(probe);
}

}  // namespace

Environment look_at_environment(const std::string& path, const std::optional<LoaderJob>& job) {
  return look_at_environment(path, job, live_probe(), look_at_gpus());
}

Environment look_at_environment(const std::string& path, const std::optional<LoaderJob>& job, const Probe& probe,
                                const GpuSight& gpus) {
  Environment environment;
  if (!path.empty()) look_at_path(path, probe, environment);
  look_at_limits(probe, environment);
  look_at_devices(probe, environment);
  look_at_gpus_of(probe, gpus, environment);
  if (!probe.text("/proc/self/status")) environment.hidden.emplace_back("/proc");
  if (probe.names("/sys/class").empty()) environment.hidden.emplace_back("/sys");
  environment.normal = normal_rates(environment);
  environment.findings = find_findings(environment, job);
  return environment;
}

}  // namespace shardkit
