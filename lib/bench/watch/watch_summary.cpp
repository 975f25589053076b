#include "bench/watch/watch_summary.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/watch/shortage.hpp"

namespace shardkit::bench {
namespace {

void lower(std::optional<std::uint64_t>& least, const std::optional<std::uint64_t>& value) {
  if (value && (!least || *value < *least)) least = value;
}

void raise(std::optional<std::uint64_t>& most, const std::optional<std::uint64_t>& value) {
  if (value && (!most || *value > *most)) most = value;
}

/// A GPU at rest lowers the speed of its link to save power, but never its lanes.
std::string degradation(const gpu::GpuState& gpu) {
  const auto name = [&] { return fmt::format("GPU {} at {}", gpu.index, gpu.pci_address); };
  if (gpu.pcie_lanes && gpu.max_pcie_lanes && *gpu.pcie_lanes < *gpu.max_pcie_lanes) {
    return fmt::format("{} has {} of {} lanes", name(), *gpu.pcie_lanes, *gpu.max_pcie_lanes);
  }
  const bool at_work = gpu.performance_state == 0;
  if (at_work && gpu.pcie_generation && gpu.max_pcie_generation && *gpu.pcie_generation < *gpu.max_pcie_generation) {
    return fmt::format("{} has a link of generation {} of {} while it works", name(), *gpu.pcie_generation,
                       *gpu.max_pcie_generation);
  }
  return {};
}

/// Levels, limits and extremes.
void add_levels(const WatchRow& row, WatchSummary& sum) {
  raise(sum.memory, row.node.memory);
  lower(sum.least_memory_available, row.node.memory_available);
  raise(sum.dev_shm_size, row.node.dev_shm_size);
  lower(sum.least_dev_shm_free, row.node.dev_shm_free);
  if (row.group.cpu_limit) sum.cpu_limit = row.group.cpu_limit;
  if (row.group.memory_limit) sum.memory_limit = row.group.memory_limit;
  raise(sum.most_group_memory, row.group.memory);
  std::uint64_t in_use = 0;
  for (const GpuRow& gpu : row.gpus) {
    if (gpu.state.fault) sum.lost_gpu = fmt::format("GPU {} ({})", gpu.state.index, enum_name(*gpu.state.fault));
    if (!is_in_use(gpu.state)) continue;
    ++in_use;
    if (sum.degraded_link.empty()) sum.degraded_link = degradation(gpu.state);
  }
  sum.most_gpus_in_use = std::max(sum.most_gpus_in_use, in_use);
  if (!row.job) return;
  sum.has_job = true;
  sum.has_own_pressure = has_own_pressure(row);
  sum.hides_bytes = sum.hides_bytes || !row.job->asked_bytes;
  sum.processors = row.job->processors;
  sum.most_processes = std::max(sum.most_processes, row.job->processes);
}

/// Of the GPUs in use; empty without any.
struct GpuUse {
  std::optional<double> slowed;    ///< 1 if heat or lack of power throttled one, else 0
  std::optional<double> link_use;  ///< of the busiest link
};

GpuUse use_of(const std::vector<GpuRow>& gpus) {
  GpuUse use;
  for (const GpuRow& gpu : gpus) {
    if (!is_in_use(gpu.state)) continue;
    use.slowed = (gpu.state.clock_limits & gpu::clock_limit::kSlowdowns) == 0 ? use.slowed.value_or(0) : 1;
    if (const auto used = link_use(gpu)) use.link_use = std::max(use.link_use.value_or(0), *used);
  }
  return use;
}

/// Calls `visit(field, mean, value)` for each mean of node and job, with its value in the interval.
template <class Visit>
void visit_means_of_job(WatchSummary& sum, const WatchRow& row, const Visit& visit) {
  const PressureShares pressure = felt_pressure(row);
  const JobRow job = row.job.value_or(JobRow());
  const auto counted = [&](std::uint64_t count) {
    return row.job ? std::optional(static_cast<double>(count)) : std::nullopt;
  };
  visit({"cpu_busy", Unit::ratio, "share of the node's CPU time that was used"}, sum.cpu_busy, row.node.cpu_busy);
  visit({"busy_cores", "cores used"}, sum.busy_cores, row.node.busy_cores);
  visit({"cpu_pressure", Unit::ratio, "share of the time in which a task waited for a core"}, sum.cpu_pressure,
        pressure.cpu);
  visit({"io_pressure", Unit::ratio, "share of the time in which a task waited for storage"}, sum.io_pressure,
        pressure.io);
  visit({"io_full_pressure", Unit::ratio, "share of the time in which all tasks waited for storage"}, sum.io_full,
        pressure.io_full);
  visit({"memory_pressure", Unit::ratio, "share of the time in which a task waited for memory"}, sum.memory_pressure,
        pressure.memory);
  visit({"blocked", Unit::ratio, "threads waiting for storage, as share of these and of cores at work"},
        sum.blocked_share, blocked_share(row));
  visit({"swapped_pages", Unit::per_second, "pages swapped in and out"}, sum.swapped_pages, row.node.swapped_pages);
  visit({"throttled", Unit::ratio, "share of the periods in which the CPU limit throttled"}, sum.throttled,
        row.group.throttled);
  visit({"blocked_threads", "threads of the job waiting for storage"}, sum.blocked_threads,
        counted(job.blocked_threads));
  visit({"cores", "cores used by the job"}, sum.cores, job.cores);
  visit({"queued_threads", "mean number of its threads that were ready to run and waited for a core"},
        sum.queued_threads, job.queued_threads);
  visit({"saturated_processes", "its processes that each used a whole core"}, sum.saturated_processes,
        counted(job.saturated_processes));
  visit({"asked", Unit::bytes_per_second, "bytes of its read calls"}, sum.asked_bytes, job.asked_bytes);
  visit({"from_storage", Unit::bytes_per_second, "bytes it read from storage"}, sum.from_storage_bytes,
        job.from_storage_bytes);
  visit({"to_storage", Unit::bytes_per_second, "bytes it wrote to storage"}, sum.to_storage_bytes,
        job.to_storage_bytes);
}

/// The same for data and GPUs. A mean over requests also gets their rate.
template <class Visit>
void visit_means_of_data(WatchSummary& sum, const WatchRow& row, const Visit& visit) {
  const DiskRow disk = row.disk.value_or(DiskRow());
  const NfsRow nfs = row.nfs.value_or(NfsRow());
  const GpuUse gpus = use_of(row.gpus);
  visit({"disk_reads", Unit::per_second, "reads of the disk of PATH"}, sum.disk_reads, disk.reads);
  visit({"disk_read", Unit::bytes_per_second, "bytes read from it"}, sum.disk_read_bytes, disk.read_bytes);
  visit({"disk_read_size", Unit::bytes, "mean size of a read"}, sum.disk_read_size, disk.read_size, disk.reads);
  visit({"disk_read_wait", Unit::seconds, "mean latency of a read"}, sum.disk_read_wait, disk.read_wait, disk.reads);
  visit({"disk_written", Unit::bytes_per_second, "bytes written to it"}, sum.disk_written_bytes, disk.written_bytes);
  visit({"disk_busy", Unit::ratio, "share of the time with a request in flight"}, sum.disk_busy, disk.busy);
  visit({"nfs_operations", Unit::per_second, "requests of the NFS mount of PATH"}, sum.nfs_operations, nfs.operations);
  visit({"nfs_read", Unit::bytes_per_second, "bytes read"}, sum.nfs_read_bytes, nfs.read_bytes);
  visit({"nfs_retransmitted", Unit::ratio, "share of the requests retransmitted"}, sum.nfs_retransmitted,
        nfs.retransmitted, nfs.operations);
  visit({"nfs_round_trip", Unit::seconds, "mean latency of a request"}, sum.nfs_round_trip, nfs.round_trip,
        nfs.operations);
  visit({"cached", Unit::ratio, "share of sampled files of PATH in the page cache"}, sum.cached, row.cached);
  visit({"gpu_busy", Unit::ratio, "share of the time in which GPUs in use ran kernels"}, sum.gpu_busy,
        mean_gpu_busy(row));
  visit({"gpu_slowed", Unit::ratio, "share of the time in which heat or lack of power throttled one"}, sum.gpu_slowed,
        gpus.slowed);
  visit({"gpu_link_use", Unit::ratio, "share of the PCIe link's rate, on the busiest GPU"}, sum.link_use,
        gpus.link_use);
}

/// Shares of the watched time by bottleneck.
struct ShortShares {
  const WatchSummary& summary;

  void describe(FieldList& v) {
    const auto share = [&](std::string_view name, Shortage shortage, std::string_view help) {
      double value = summary.share(shortage);
      v.field({name, Unit::ratio, help}, value);
    };
    share("cpu_limit", Shortage::cpu_limit, "the CPU limit of the control group throttled");
    share("memory", Shortage::memory, "tasks waited for memory");
    share("cores", Shortage::cores, "all cores were busy");
    share("gpu_link", Shortage::gpu_link, "a PCIe link of a GPU was saturated");
    share("storage", Shortage::storage, "tasks waited for storage");
    share("dev_shm", Shortage::dev_shm, "/dev/shm was nearly full");
    share("compute", Shortage::compute, "no bottleneck: the GPUs were busy");
    share("nothing", Shortage::nothing, "no bottleneck seen");
  }
};

}  // namespace

void WeightedMean::add(const std::optional<double>& value, double weight) {
  if (!value) return;
  sum_ += *value * weight;
  weight_ += weight;
}

std::optional<double> WeightedMean::value() const {
  if (weight_ <= 0) return std::nullopt;
  return sum_ / weight_;
}

void WatchSummary::add(const WatchRow& row) {
  ++intervals;
  seconds += row.seconds;
  short_seconds[static_cast<std::size_t>(row.short_of)] += row.seconds;
  add_levels(row, *this);
  if (row.stalled) {
    stalled_seconds[row.stalled->pid] += row.seconds;
    StalledRow& most = stalled[row.stalled->pid];
    if (row.stalled->processes >= most.processes) most = *row.stalled;
  }
  const auto add = [&](const Field&, WeightedMean& mean, const std::optional<double>& value,
                       const std::optional<double>& per_second = 1) {
    mean.add(value, per_second.value_or(0) * row.seconds);
  };
  visit_means_of_job(*this, row, add);
  visit_means_of_data(*this, row, add);
}

double WatchSummary::share(Shortage shortage) const {
  return seconds > 0 ? short_seconds[static_cast<std::size_t>(shortage)] / seconds : 0;
}

std::optional<StalledRow> WatchSummary::stalled_job() const {
  const auto most = std::ranges::max_element(stalled_seconds, {}, [](const auto& entry) { return entry.second; });
  if (most == stalled_seconds.end() || most->second < watch_rules::kMostly * seconds) return std::nullopt;
  return stalled.at(most->first);
}

void WatchSummary::describe(FieldList& v) {
  v.field({"intervals", Unit::count, "intervals"}, intervals);
  v.field({"seconds", Unit::seconds, "total length of the intervals"}, seconds);
  ShortShares shares{*this};
  v.field({"short", Unit::ratio, "share of that time by bottleneck"}, shares);
  v.field({"memory", Unit::bytes, "memory of the node"}, memory);
  v.field({"least_memory_available", Unit::bytes, "lowest available memory"}, least_memory_available);
  v.field({"dev_shm_size", Unit::bytes, "size of /dev/shm"}, dev_shm_size);
  v.field({"least_dev_shm_free", Unit::bytes, "lowest free space in it"}, least_dev_shm_free);
  v.field({"cpu_limit", "CPU limit of the control groups, in cores"}, cpu_limit);
  v.field({"memory_limit", Unit::bytes, "memory limit of the control groups"}, memory_limit);
  v.field({"most_group_memory", Unit::bytes, "highest memory use of the control group, including page cache"},
          most_group_memory);
  v.field({"most_processes", Unit::count, "highest number of processes of the job"}, most_processes);
  v.field({"processors", Unit::count, "processors that the job may run on"}, processors);
  v.field({"most_gpus_in_use", Unit::count, "highest number of GPUs in use"}, most_gpus_in_use);
  const auto describe = [&](const Field& field, const WeightedMean& mean, const auto&...) {
    std::optional<double> value = mean.value();
    v.field(field, value);
  };
  visit_means_of_job(*this, {}, describe);
  visit_means_of_data(*this, {}, describe);
}

}  // namespace shardkit::bench
