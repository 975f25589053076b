#include "bench/watch/watch_sample.hpp"

#include <fmt/format.h>

#include "bench/watch/shortage.hpp"

namespace shardkit {
namespace {

void look_at_node(const Probe& probe, WatchSample& sample) {
  sample.cpu = read_cpu_times(probe);
  sample.memory = read_memory_use(probe);
  sample.cpu_pressure = read_pressure(probe, "/proc/pressure/cpu");
  sample.io_pressure = read_pressure(probe, "/proc/pressure/io");
  sample.memory_pressure = read_pressure(probe, "/proc/pressure/memory");
  sample.dev_shm = probe.space("/dev/shm");
}

void look_at_job(const WatchTarget& target, const Probe& probe, WatchSample& sample) {
  sample.group = read_cgroup_use(probe, target.pid ? fmt::to_string(*target.pid) : "self");
  if (!target.pid) return;
  sample.processes = read_process_tree(*target.pid, probe);
  sample.process_ended = sample.processes.empty() || sample.processes.front().start != target.start;
  if (sample.process_ended) sample.processes.clear();  // another process may have its number by now
}

void look_at_data(const WatchTarget& target, const WatchSources& sources, WatchSample& sample) {
  sample.disk = read_disk_counters(target.storage.device, sources.probe);
  if (target.nfs_mount) sample.nfs = read_nfs_counters(*target.nfs_mount, sources.probe);
  sample.cached = sources.files.look();
}

std::vector<GpuSample> look_at_gpus_of(const GpuMonitor* monitor) {
  std::vector<GpuSample> gpus;
  if (monitor == nullptr) return gpus;
  for (GpuState& state : monitor->look()) {
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

}  // namespace shardkit
