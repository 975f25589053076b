#include "bench/watch/watch_sample.hpp"

#include <utility>

#include <fmt/format.h>

#include "system/pcie.hpp"

namespace shardkit::bench {
namespace {

void look_at_node(const system::Probe& probe, WatchSample& sample) {
  sample.cpu = system::read_cpu_times(probe);
  sample.memory = system::read_memory_use(probe);
  sample.pressure = system::read_pressures(probe, "/proc/pressure/");
  sample.dev_shm = probe.space("/dev/shm");
}

void look_at_job(const WatchTarget& target, const system::Probe& probe, WatchSample& sample) {
  sample.group = system::read_cgroup_use(probe, target.pid ? fmt::to_string(*target.pid) : "self");
  if (!target.pid) {
    sample.stalled = system::find_stalled_job(probe);
    return;
  }
  sample.processes = system::read_process_tree(*target.pid, probe);
  sample.process_ended = sample.processes.empty() || sample.processes.front().start != target.start;
  if (sample.process_ended) sample.processes.clear();  // another process may have its number meanwhile
}

void look_at_data(const WatchTarget& target, const WatchSources& sources, WatchSample& sample) {
  sample.disk = system::read_disk_counters(target.storage.device, sources.probe);
  if (target.nfs_mount) sample.nfs = system::read_nfs_counters(*target.nfs_mount, sources.probe);
  sample.cached = sources.files.look();
}

std::vector<GpuRow> look_at_gpus_of(const gpu::GpuMonitor* monitor) {
  std::vector<GpuRow> gpus;
  if (monitor == nullptr) return gpus;
  for (gpu::GpuState& state : monitor->look()) {
    const auto intake = is_in_use(state) ? monitor->pcie_intake(state.pci_address) : std::nullopt;
    gpus.push_back({std::move(state), intake});
  }
  return gpus;
}

}  // namespace

WatchSample take_watch_sample(const WatchTarget& target, const WatchSources& sources) {
  WatchSample sample;
  sample.moment = sources.clock.monotonic().count();
  sample.time = sources.clock.now();
  look_at_node(sources.probe, sample);
  look_at_job(target, sources.probe, sample);
  look_at_data(target, sources, sample);
  sample.gpus = look_at_gpus_of(sources.gpus);
  return sample;
}

bool is_in_use(const gpu::GpuState& gpu) {
  const auto memory = static_cast<double>(gpu.memory.value_or(0));
  const auto used = static_cast<double>(gpu.memory_used.value_or(0));
  return gpu.gpu_busy.value_or(0) >= kGpuInUse || (memory > 0 && used >= kGpuInUse * memory);
}

std::optional<double> link_use(const GpuRow& gpu) {
  const gpu::GpuState& state = gpu.state;
  if (!gpu.intake || !state.pcie_generation || state.c2c_rate) return std::nullopt;
  const auto speed = system::pcie_speed(static_cast<unsigned>(*state.pcie_generation));
  const auto rate = system::pcie_rate(speed, state.pcie_lanes);
  return rate ? std::optional(*gpu.intake / *rate) : std::nullopt;
}

void GpuRow::describe(FieldList& v) {
  state.describe(v);
  v.field({"pcie_intake", Unit::bytes_per_second, "bytes received over PCIe in the last 20 ms; of GPUs in use"},
          intake);
}

}  // namespace shardkit::bench
