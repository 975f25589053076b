#include "bench/watch/watch_summary.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace shardkit::bench {
namespace {

void lower(std::optional<std::uint64_t>& least, const std::optional<std::uint64_t>& value) {
  if (value && (!least || *value < *least)) least = value;
}

void raise(std::optional<std::uint64_t>& most, const std::optional<std::uint64_t>& value) {
  if (value && (!most || *value > *most)) most = value;
}

/// How many requests a mean is over.
double count_of(const std::optional<double>& per_second, double seconds) { return per_second.value_or(0) * seconds; }

void add_node(const WatchRow& row, WatchSummary& sum) {
  sum.cpu_busy.add(row.node.cpu_busy, row.seconds);
  sum.busy_cores.add(row.node.busy_cores, row.seconds);
  raise(sum.memory, row.node.memory);
  lower(sum.least_memory_available, row.node.memory_available);
  raise(sum.dev_shm_size, row.node.dev_shm_size);
  lower(sum.least_dev_shm_free, row.node.dev_shm_free);
  sum.swapped_pages.add(row.node.swapped_pages, row.seconds);
  const PressureShares pressure = felt_pressure(row);
  sum.cpu_pressure.add(pressure.cpu, row.seconds);
  sum.io_pressure.add(pressure.io, row.seconds);
  sum.io_full.add(pressure.io_full, row.seconds);
  sum.memory_pressure.add(pressure.memory, row.seconds);
  sum.blocked_share.add(blocked_share(row), row.seconds);
}

void add_group(const WatchRow& row, WatchSummary& sum) {
  if (row.group.cpu_limit) sum.cpu_limit = row.group.cpu_limit;
  if (row.group.memory_limit) sum.memory_limit = row.group.memory_limit;
  sum.throttled.add(row.group.throttled, row.seconds);
  raise(sum.most_group_memory, row.group.memory);
}

void add_job(const JobRow& job, double seconds, WatchSummary& sum) {
  sum.has_job = true;
  sum.hides_bytes = sum.hides_bytes || !job.asked_bytes;
  sum.processors = job.processors;
  sum.most_processes = std::max(sum.most_processes, job.processes);
  sum.blocked_threads.add(static_cast<double>(job.blocked_threads), seconds);
  sum.cores.add(job.cores, seconds);
  sum.queued_threads.add(job.queued_threads, seconds);
  sum.saturated_processes.add(static_cast<double>(job.saturated_processes), seconds);
  sum.asked_bytes.add(job.asked_bytes, seconds);
  sum.from_storage_bytes.add(job.from_storage_bytes, seconds);
  sum.to_storage_bytes.add(job.to_storage_bytes, seconds);
}

void add_disk(const DiskRow& disk, double seconds, WatchSummary& sum) {
  sum.disk_reads.add(disk.reads, seconds);
  sum.disk_read_bytes.add(disk.read_bytes, seconds);
  sum.disk_read_size.add(disk.read_size, count_of(disk.reads, seconds));
  sum.disk_read_wait.add(disk.read_wait, count_of(disk.reads, seconds));
  sum.disk_written_bytes.add(disk.written_bytes, seconds);
  sum.disk_busy.add(disk.busy, seconds);
}

void add_nfs(const NfsRow& nfs, double seconds, WatchSummary& sum) {
  sum.nfs_operations.add(nfs.operations, seconds);
  sum.nfs_read_bytes.add(nfs.read_bytes, seconds);
  sum.nfs_retransmitted.add(nfs.retransmitted, count_of(nfs.operations, seconds));
  sum.nfs_round_trip.add(nfs.round_trip, count_of(nfs.operations, seconds));
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

void add_gpus(const WatchRow& row, WatchSummary& sum) {
  std::uint64_t in_use = 0;
  bool slowed = false;
  std::optional<double> most_used;
  for (const GpuRow& gpu : row.gpus) {
    if (!is_in_use(gpu.state)) continue;
    ++in_use;
    slowed = slowed || !gpu::slowdowns(gpu.state.clock_limits).empty();
    if (sum.degraded_link.empty()) sum.degraded_link = degradation(gpu.state);
    if (const auto used = link_use(gpu)) most_used = std::max(most_used.value_or(0), *used);
  }
  sum.most_gpus_in_use = std::max(sum.most_gpus_in_use, in_use);
  sum.gpu_busy.add(mean_gpu_busy(row), row.seconds);
  if (in_use > 0) sum.gpu_slowed.add(slowed ? 1 : 0, row.seconds);
  sum.link_use.add(most_used, row.seconds);
}

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
  add_node(row, *this);
  add_group(row, *this);
  if (row.job) add_job(*row.job, row.seconds, *this);
  if (row.disk) add_disk(*row.disk, row.seconds, *this);
  if (row.nfs) add_nfs(*row.nfs, row.seconds, *this);
  cached.add(row.cached, row.seconds);
  add_gpus(row, *this);
}

double WatchSummary::share(Shortage shortage) const {
  return seconds > 0 ? short_seconds[static_cast<std::size_t>(shortage)] / seconds : 0;
}

namespace {

/// A mean as the field that it is.
void mean(FieldVisitor& v, const Field& field, const WeightedMean& mean) {
  std::optional<double> value = mean.value();
  v.field(field, value);
}

/// Shares of the watched time by bottleneck.
struct ShortShares {
  const WatchSummary& summary;

  void describe(FieldVisitor& v) {
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

void describe_node(WatchSummary& sum, FieldVisitor& v) {
  mean(v, {"cpu_busy", Unit::ratio, "share of the node's CPU time that was used"}, sum.cpu_busy);
  mean(v, {"busy_cores", "cores used"}, sum.busy_cores);
  mean(v, {"cpu_pressure", Unit::ratio, "share of the time in which a task waited for a core"}, sum.cpu_pressure);
  mean(v, {"io_pressure", Unit::ratio, "share of the time in which a task waited for storage"}, sum.io_pressure);
  mean(v, {"io_full_pressure", Unit::ratio, "share of the time in which all tasks waited for storage"}, sum.io_full);
  mean(v, {"memory_pressure", Unit::ratio, "share of the time in which a task waited for memory"}, sum.memory_pressure);
  mean(v, {"blocked", Unit::ratio, "threads waiting for storage, as share of these and of cores at work"},
       sum.blocked_share);
  v.field({"memory", Unit::bytes, "memory of the node"}, sum.memory);
  v.field({"least_memory_available", Unit::bytes, "lowest available memory"}, sum.least_memory_available);
  mean(v, {"swapped_pages", Unit::per_second, "pages swapped in and out"}, sum.swapped_pages);
  v.field({"dev_shm_size", Unit::bytes, "size of /dev/shm"}, sum.dev_shm_size);
  v.field({"least_dev_shm_free", Unit::bytes, "lowest free space in it"}, sum.least_dev_shm_free);
  v.field({"cpu_limit", "CPU limit of the control groups, in cores"}, sum.cpu_limit);
  mean(v, {"throttled", Unit::ratio, "share of the periods in which that limit throttled"}, sum.throttled);
  v.field({"memory_limit", Unit::bytes, "memory limit of the control groups"}, sum.memory_limit);
  v.field({"most_group_memory", Unit::bytes, "highest memory use of the control group, including page cache"},
          sum.most_group_memory);
}

void describe_job(WatchSummary& sum, FieldVisitor& v) {
  v.field({"most_processes", Unit::count, "highest number of processes of the job"}, sum.most_processes);
  mean(v, {"blocked_threads", "its threads in uninterruptible sleep"}, sum.blocked_threads);
  mean(v, {"cores", "cores used by the job"}, sum.cores);
  mean(v, {"queued_threads", "mean number of its threads that were ready to run and waited for a core"},
       sum.queued_threads);
  v.field({"processors", Unit::count, "processors that the job may run on"}, sum.processors);
  mean(v, {"saturated_processes", "its processes that each used a whole core"}, sum.saturated_processes);
  mean(v, {"asked", Unit::bytes_per_second, "bytes of its read calls"}, sum.asked_bytes);
  mean(v, {"from_storage", Unit::bytes_per_second, "bytes it read from storage"}, sum.from_storage_bytes);
  mean(v, {"to_storage", Unit::bytes_per_second, "bytes it wrote to storage"}, sum.to_storage_bytes);
}

void describe_data(WatchSummary& sum, FieldVisitor& v) {
  mean(v, {"disk_reads", Unit::per_second, "reads of the disk of PATH"}, sum.disk_reads);
  mean(v, {"disk_read", Unit::bytes_per_second, "bytes read from it"}, sum.disk_read_bytes);
  mean(v, {"disk_read_size", Unit::bytes, "mean size of a read"}, sum.disk_read_size);
  mean(v, {"disk_read_wait", Unit::seconds, "mean latency of a read"}, sum.disk_read_wait);
  mean(v, {"disk_written", Unit::bytes_per_second, "bytes written to it"}, sum.disk_written_bytes);
  mean(v, {"disk_busy", Unit::ratio, "share of the time with a request in flight"}, sum.disk_busy);
  mean(v, {"nfs_operations", Unit::per_second, "requests of the NFS mount of PATH"}, sum.nfs_operations);
  mean(v, {"nfs_read", Unit::bytes_per_second, "bytes read"}, sum.nfs_read_bytes);
  mean(v, {"nfs_retransmitted", Unit::ratio, "share of the requests retransmitted"}, sum.nfs_retransmitted);
  mean(v, {"nfs_round_trip", Unit::seconds, "mean latency of a request"}, sum.nfs_round_trip);
  mean(v, {"cached", Unit::ratio, "share of sampled files of PATH in the page cache"}, sum.cached);
}

void describe_gpus(WatchSummary& sum, FieldVisitor& v) {
  v.field({"most_gpus_in_use", Unit::count, "highest number of GPUs in use"}, sum.most_gpus_in_use);
  mean(v, {"gpu_busy", Unit::ratio, "share of the time in which these ran kernels"}, sum.gpu_busy);
  mean(v, {"gpu_slowed", Unit::ratio, "share of the time in which heat or lack of power throttled one"},
       sum.gpu_slowed);
  mean(v, {"gpu_link_use", Unit::ratio, "share of the PCIe link's rate, on the busiest GPU"}, sum.link_use);
}

}  // namespace

void WatchSummary::describe(FieldVisitor& v) {
  v.field({"intervals", Unit::count, "intervals"}, intervals);
  v.field({"seconds", Unit::seconds, "total length of the intervals"}, seconds);
  ShortShares shares{*this};
  v.field({"short", Unit::ratio, "share of that time by bottleneck"}, shares);
  describe_node(*this, v);
  describe_job(*this, v);
  describe_data(*this, v);
  describe_gpus(*this, v);
}

}  // namespace shardkit::bench
