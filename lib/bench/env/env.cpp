#include "bench/env/env.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "catalog/object_location.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/text.hpp"

namespace shardkit::bench {
namespace {

void look_at_path(const std::string& path, const system::Probe& probe, Environment& environment) {
  environment.storage = system::storage_of(path, probe);
  environment.path = system::data_path(path, probe);
  const auto facts = probe.stat(environment.path);
  if (facts && facts->kind == system::PathFacts::Kind::file) environment.file_size = facts->size;
  environment.space = probe.space(environment.path);
  if (environment.storage.mount_point.empty() && !environment.storage.device.empty()) {  // the path is a device
    environment.block_device = system::read_block_device(probe, "/sys/class/block/" + environment.storage.device);
    environment.space.reset();
  }
  const auto mount = system::mount_of(environment.path, probe);
  if (!mount || environment.storage.mount_point.empty()) return;
  if (auto device = system::device_of(*mount, probe); !device.name.empty())
    environment.block_device = std::move(device);
  if (mount->type.starts_with("nfs")) environment.nfs = system::read_nfs(*mount, probe);
  if (mount->type == "lustre") environment.lustre = system::read_lustre(*mount, environment.path, probe);
  if (mount->type == "gpfs") environment.gpfs = system::read_gpfs(probe);
  if (environment.storage.storage_class == system::StorageClass::fuse)
    environment.fuse = system::read_fuse(*mount, probe);
}

void look_at_limits(const system::Probe& probe, Environment& environment) {
  environment.usable_threads = system::usable_threads(probe);
  environment.control_group = system::read_cgroup_use(probe);
  environment.cpu_limit = environment.control_group.cpu_limit;
  environment.throttled_periods = environment.control_group.throttled_periods.value_or(0);
  const std::uint64_t memory = system::usable_memory(probe);
  environment.usable_memory = memory == std::numeric_limits<std::uint64_t>::max() ? 0 : memory;
  if (const auto space = probe.space("/dev/shm")) {
    environment.dev_shm = space->free_bytes;
    environment.dev_shm_size = space->total_bytes;
  }
}

/// Facts from the driver about GPUs, in addition to /sys, or for those that /sys does not show, as in many containers.
void add_drivers_word(const gpu::GpuSight& sight, std::vector<system::GpuDevice>& devices) {
  for (const gpu::GpuState& gpu : sight.gpus) {
    if (gpu.pci_address.empty()) continue;  // a lost one
    auto device =
        std::ranges::find(devices, gpu.pci_address, [](const system::GpuDevice& d) { return d.pcie.address; });
    if (device == devices.end()) device = devices.insert(device, {gpu.name, "nvidia", {}});
    if (!gpu.name.empty()) device->model = gpu.name;
    device->pcie = gpu::driver_link(gpu, device->pcie);
  }
}

void look_at_gpus_of(const system::Probe& probe, const gpu::GpuSight& sight, Environment& environment) {
  system::GpuPresence gpus = system::find_gpus(probe);
  add_drivers_word(sight, gpus.bus);
  environment.gpus = std::max<std::uint64_t>(gpus.devices, sight.gpus.size());
  environment.gpu_driver = gpus.driver_version.empty() ? sight.driver_version : gpus.driver_version;
  environment.gpu_devices = std::move(gpus.bus);
  environment.gpu_monitor = sight;
  environment.gds_driver = !probe.names("/sys/module/nvidia_fs").empty();
  environment.nvme_multipath = system::sys_word(probe, "/sys/module/nvme_core/parameters/multipath");
}

void look_at_devices(const system::Probe& probe, Environment& environment) {
  environment.cpu = system::read_cpu(probe);
  environment.memory = system::read_memory(probe);
  environment.numa_nodes = system::read_numa_nodes(probe);
  environment.network = system::read_network_cards(probe);
  environment.rdma = system::read_rdma_ports(probe);
  environment.kernel = system::read_kernel(probe);
}

constexpr double kMega = 1e6;

/// By the drive's own limit: 3000-7000 MB/s up to generation 4, 14000 with generation 5 (docs/explain/measuring.md).
NormalRate nvme_rate(const system::BlockDevice& drive) {
  NormalRate rate{"nvme", 3000 * kMega, 7000 * kMega, "an NVMe drive with many requests in flight"};
  if (drive.links.empty() || !drive.links.front().pcie.max_speed) return rate;
  const system::PcieLink& link = drive.links.front().pcie;
  if (*link.max_speed >= 32) rate = {"nvme", 10000 * kMega, 14000 * kMega, "an NVMe drive of PCIe generation 5"};
  if (*link.max_speed <= 8) rate = {"nvme", 2000 * kMega, 3500 * kMega, "an NVMe drive of PCIe generation 3"};
  return rate;
}

std::optional<NormalRate> storage_rate(const Environment& environment) {
  std::optional<NormalRate> rate;
  const system::BlockDevice drive = environment.block_device.value_or(system::BlockDevice{});
  switch (environment.storage.storage_class) {
    case system::StorageClass::hdd:
      rate = NormalRate{"hdd", 150 * kMega, 250 * kMega, "a spinning disk; 100 to 200 random reads per second"};
      break;
    case system::StorageClass::ssd:
      rate = NormalRate{"ssd", 450 * kMega, 550 * kMega, "an SATA SSD"};
      break;
    case system::StorageClass::nvme:
      rate = nvme_rate(drive);
      break;
    default:
      return std::nullopt;
  }
  if (drive.members.size() > 1) rate->note += fmt::format("; each of {} members", drive.members.size());
  return rate;
}

/// For the storage below the path, the network if it is remote, and the link of the GPUs; storage without a normal
/// rate, such as a rented disk, is left out.
std::vector<NormalRate> normal_rates(const Environment& environment) {
  std::vector<NormalRate> rates;
  if (const auto rate = storage_rate(environment)) rates.push_back(*rate);
  const auto network = fastest_network(environment);
  if (system::has_remote_cache(environment.storage.storage_class) && network) {
    rates.push_back({"network", std::nullopt, *network, "limit of the fastest active link"});
  }
  for (const system::GpuDevice& gpu : environment.gpu_devices) {
    const auto link = system::pcie_rate(gpu.pcie.best_speed(), gpu.pcie.best_width());
    if (!link) continue;
    rates.push_back({"gpu", 0.8 * *link, 0.9 * *link, "host to one GPU from pinned memory, large copies"});
    break;
  }
  return rates;
}

void check_options(const EnvOptions& options) {
  check_ranges(options);
  if (!options.workers && (options.gpus || options.batch)) throw usage_error("--gpus and --batch need --workers");
  if (options.path && catalog::is_address(*options.path)) {
    throw usage_error("{}", "env checks storage that is mounted on this machine, not '" +
                                without_secrets(*options.path) +
                                "'; use `iobench read` to measure s3:// and http(s)://");
  }
}

std::optional<LoaderJob> job_of(const EnvOptions& options) {
  if (!options.workers) return std::nullopt;
  LoaderJob job;
  job.gpus = options.gpus.value_or(1);
  job.workers = *options.workers;
  job.batch = options.batch.value_or(job.batch);
  job.sample_bytes = static_cast<double>(tensor_bytes(224, image::value_bytes(image::TensorType::f32)));
  return job;
}

}  // namespace

std::optional<double> fastest_network(const Environment& environment) {
  std::optional<double> fastest;
  for (const system::NetworkCard& card : environment.network) {
    if (card.state == "up" && card.bytes_per_second) fastest = std::max(fastest.value_or(0), *card.bytes_per_second);
  }
  for (const system::RdmaPort& port : environment.rdma) {
    if (port.state == "ACTIVE" && port.bytes_per_second)
      fastest = std::max(fastest.value_or(0), *port.bytes_per_second);
  }
  return fastest;
}

Environment look_at_environment(const std::string& path, const std::optional<LoaderJob>& job) {
  return look_at_environment(path, job, system::live_probe(), gpu::look_at_gpus());
}

Environment look_at_environment(const std::string& path, const std::optional<LoaderJob>& job,
                                const system::Probe& probe, const gpu::GpuSight& gpus) {
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

void Environment::describe(FieldList& v) {
  v.field({"usable_threads", Unit::count, "CPUs available to the process"}, usable_threads);
  v.field({"cpu_limit", "CPU limit of the control group, in cores"}, cpu_limit);
  v.field({"throttled_periods", Unit::count, "periods in which that limit throttled the process so far"},
          throttled_periods);
  v.field({"usable_memory", Unit::bytes, "memory available to the process; 0 if not visible"}, usable_memory);
  v.field({"dev_shm", Unit::bytes, "free space in /dev/shm"}, dev_shm);
  v.field({"dev_shm_size", Unit::bytes, "size of /dev/shm"}, dev_shm_size);
  v.field({"gpus", Unit::count, "NVIDIA devices visible to the process"}, gpus);
  v.field({"gpu_driver", "version of the NVIDIA driver"}, gpu_driver);
  v.field({"path", "path of the data with links resolved"}, path);
  v.field({"storage", "storage of the data"}, storage);
  v.field({"file", Unit::bytes, "size of the data, if the path is a single file"}, file_size);
  std::optional<std::uint64_t> size;
  std::optional<std::uint64_t> free;
  if (space) {
    size = space->total_bytes;
    free = space->free_bytes;
  }
  v.field({"file_system_size", Unit::bytes, "size of that file system"}, size);
  v.field({"file_system_free", Unit::bytes, "free space for this user"}, free);
  v.field({"block_device", "block device of that file system"}, block_device);
  v.field({"nfs", "the mount, if it is NFS"}, nfs);
  v.field({"lustre", "the mount, if it is Lustre"}, lustre);
  v.field({"gpfs", "the mount, if it is GPFS (IBM Storage Scale)"}, gpfs);
  v.field({"fuse", "the mount, if it is FUSE"}, fuse);
  v.field({"cpu", "processors of the machine"}, cpu);
  v.field({"control_group", "limits of the control groups"}, control_group);
  v.field({"memory", "memory of the machine and its kernel settings"}, memory);
  v.field({"numa_nodes", "NUMA nodes"}, numa_nodes);
  v.field({"network", "network cards"}, network);
  v.field({"rdma", "ports of RDMA devices"}, rdma);
  v.field({"gpu_devices", "NVIDIA GPUs on the PCI bus, whether visible to the process or not"}, gpu_devices);
  v.field({"gpu_monitor", "current state of the GPUs as reported by the driver (NVML)"}, gpu_monitor);
  v.field({"gds_driver", "the driver of GPUDirect Storage (nvidia-fs) is loaded"}, gds_driver);
  v.field({"nvme_multipath", "Y if the kernel joins paths to an NVMe drive (nvme_core.multipath)"}, nvme_multipath);
  v.field({"kernel", "limits set by kernel, container and user"}, kernel);
  v.field({"hidden", "parts of the machine that are not visible to this process"}, hidden);
  v.field({"normal", "rates that are normal for this hardware"}, normal);
  v.field({"findings", "findings, most severe first"}, findings);
}

EnvResult env(const EnvOptions& options, Context& context) {
  check_options(options);
  context.progress().start("checking the machine");
  EnvResult result;
  result.strict = options.strict;
  result.environment = look_at_environment(options.path.value_or(""), job_of(options));
  const auto count = [&](Severity severity) {
    return static_cast<std::uint64_t>(
        std::ranges::count(result.environment.findings, severity, &MachineFinding::severity));
  };
  result.errors = count(Severity::error);
  result.warnings = count(Severity::warning);
  return result;
}

}  // namespace shardkit::bench
