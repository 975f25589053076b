#include "bench/watch/watch_summary.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace shardkit {
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
std::string degradation(const GpuState& gpu) {
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
    slowed = slowed || !slowdowns(gpu.state.clock_limits).empty();
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

}  // namespace shardkit
