#include "bench/watch/shortage.hpp"

#include <algorithm>
#include <cstdint>

namespace shardkit::bench {
namespace {

using namespace watch_rules;

bool is_at_least(const std::optional<double>& value, double limit) { return value && *value >= limit; }
bool is_known_below(const std::optional<double>& value, double limit) { return value && *value < limit; }

std::optional<double> share_of(const std::optional<std::uint64_t>& part, const std::optional<std::uint64_t>& whole) {
  if (!part || !whole || *whole == 0) return std::nullopt;
  return static_cast<double>(*part) / static_cast<double>(*whole);
}

bool memory_is_short(const WatchRow& row) {
  const auto pressure = felt_pressure(row).memory;
  if (pressure) return *pressure >= kMemoryPressure;
  return is_known_below(share_of(row.node.memory_available, row.node.memory), kMemoryLeft);
}

/// A few waiting tasks are normal if many read; waits count if all tasks wait, or many compared with those that
/// work. That all tasks of the node wait does not show that the job does.
bool storage_is_short(const WatchRow& row) {
  const PressureShares pressure = felt_pressure(row);
  const bool many_wait = is_at_least(blocked_share(row), kBlockedShare);
  if (!pressure.io) return many_wait;
  const bool all_wait = is_at_least(pressure.io_full, kIoPressureFull) && (!row.job || has_own_pressure(row));
  return *pressure.io >= kIoPressure && (many_wait || all_wait);
}

/// A job that neither runs nor waits has no bottleneck, whatever other processes of its node or control group do.
bool is_idle(const WatchRow& row) {
  return row.job && row.job->blocked_threads == 0 && is_known_below(row.job->cores, kIdleCores) &&
         row.job->queued_threads.value_or(0) < kIdleCores;
}

/// A job that keeps busy all that it may use gains by more of them, also when it has no more threads than these.
bool uses_all_its_cores(const JobRow& job) {
  return job.cores && job.processors && *job.cores >= kCoresBusy * static_cast<double>(*job.processors);
}

bool cores_are_short(const WatchRow& row) {
  if (row.job && uses_all_its_cores(*row.job)) return true;
  if (!is_at_least(row.node.cpu_busy, kCoresBusy)) return false;
  if (row.job && row.job->queued_threads && row.job->cores) {
    const double wanted = *row.job->queued_threads + *row.job->cores;
    return wanted >= kCoresWanted && *row.job->queued_threads >= kQueuedShare * wanted;
  }
  return !is_known_below(felt_pressure(row).cpu, kCpuPressure);
}

/// Even if other processes keep all cores busy, a job may wait for storage.
bool waits_more_for_storage(const WatchRow& row) {
  return row.job && row.job->queued_threads &&
         static_cast<double>(row.job->blocked_threads) > *row.job->queued_threads && storage_is_short(row);
}

bool link_is_short(const WatchRow& row) {
  return std::ranges::any_of(row.gpus, [](const GpuRow& gpu) { return is_at_least(link_use(gpu), kLinkBusy); });
}

bool dev_shm_is_short(const WatchRow& row) {
  return is_known_below(share_of(row.node.dev_shm_free, row.node.dev_shm_size), kDevShmLeft);
}

}  // namespace

std::optional<double> mean_gpu_busy(const WatchRow& row) {
  double sum = 0;
  double count = 0;
  for (const GpuRow& gpu : row.gpus) {
    if (!is_in_use(gpu.state) || !gpu.state.gpu_busy) continue;
    sum += *gpu.state.gpu_busy;
    count += 1;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

bool has_own_pressure(const WatchRow& row) { return row.job && row.group.pressure.io && row.group.pressure.memory; }

PressureShares felt_pressure(const WatchRow& row) {
  return has_own_pressure(row) ? row.group.pressure : row.node.pressure;
}

std::optional<double> blocked_share(const WatchRow& row) {
  const auto blocked = row.job ? std::optional(static_cast<double>(row.job->blocked_threads)) : row.node.blocked_tasks;
  const auto working = row.job ? row.job->cores : row.node.busy_cores;
  if (!blocked || !working) return std::nullopt;
  if (*blocked == 0) return 0.0;
  return *blocked / (*blocked + *working);
}

Shortage shortage_of(const WatchRow& row) {
  if (is_at_least(mean_gpu_busy(row), kGpuBusy)) return Shortage::compute;
  if (is_idle(row)) return Shortage::nothing;
  if (is_at_least(row.group.throttled, kThrottled)) return Shortage::cpu_limit;
  if (memory_is_short(row)) return Shortage::memory;
  if (cores_are_short(row) && !waits_more_for_storage(row)) return Shortage::cores;
  if (link_is_short(row)) return Shortage::gpu_link;
  if (storage_is_short(row)) return Shortage::storage;
  return dev_shm_is_short(row) ? Shortage::dev_shm : Shortage::nothing;
}

}  // namespace shardkit::bench
