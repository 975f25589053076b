#include "bench/watch/watch_row.hpp"

#include <algorithm>
#include <map>

#include "net/timestamp.hpp"

namespace shardkit {
namespace {

using Number = std::optional<double>;

/// What a counter grew by; empty when it went backwards.
template <class T>
Number growth(T before, T after) {
  if (after < before) return std::nullopt;
  return static_cast<double>(after - before);
}
template <class T>
Number growth(const std::optional<T>& before, const std::optional<T>& after) {
  return before && after ? growth(*before, *after) : std::nullopt;
}

Number per(Number part, Number whole) {
  if (!part || !whole || *whole <= 0) return std::nullopt;
  return *part / *whole;
}

/// Two counters are never read at the same moment.
Number share(Number part, Number whole) {
  const Number ratio = per(part, whole);
  return ratio ? Number(std::min(*ratio, 1.0)) : std::nullopt;
}

struct PressureShare {
  Number some;
  Number full;
};
PressureShare pressure_share(const std::optional<Pressure>& before, const std::optional<Pressure>& after,
                             double seconds) {
  if (!before || !after) return {};
  return {share(growth(before->some_seconds, after->some_seconds), seconds),
          share(growth(before->full_seconds, after->full_seconds), seconds)};
}

PressureShares pressure_shares(const PressureShare& cpu, const PressureShare& io, const PressureShare& memory) {
  return {cpu.some, io.some, io.full, memory.some, memory.full};
}

void add_processors(const CpuTimes& before, const CpuTimes& after, NodeRow& row) {
  const Number total = growth(before.total_seconds, after.total_seconds);
  row.cpu_busy = share(growth(before.busy_seconds, after.busy_seconds), total);
  row.stolen = share(growth(before.stolen_seconds, after.stolen_seconds), total);
  if (row.cpu_busy) row.busy_cores = *row.cpu_busy * static_cast<double>(after.processors);
  row.blocked_tasks = static_cast<double>(after.blocked);
}

void add_memory(const std::optional<MemoryUse>& before, const MemoryUse& after, double seconds, NodeRow& row) {
  row.memory = after.total;
  row.memory_available = after.available;
  row.page_cache = after.page_cache;
  if (!before) return;
  row.page_cache_growth = (static_cast<double>(after.page_cache) - static_cast<double>(before->page_cache)) / seconds;
  row.major_faults = per(growth(before->major_faults, after.major_faults), seconds);
  row.swapped_pages = per(growth(before->swapped_pages, after.swapped_pages), seconds);
}

NodeRow node_row(const WatchSample& before, const WatchSample& after, double seconds) {
  NodeRow row;
  if (before.cpu && after.cpu) add_processors(*before.cpu, *after.cpu, row);
  row.pressure = pressure_shares(pressure_share(before.cpu_pressure, after.cpu_pressure, seconds),
                                 pressure_share(before.io_pressure, after.io_pressure, seconds),
                                 pressure_share(before.memory_pressure, after.memory_pressure, seconds));
  if (after.memory) add_memory(before.memory, *after.memory, seconds, row);
  if (after.dev_shm) {
    row.dev_shm_size = after.dev_shm->total_bytes;
    row.dev_shm_free = after.dev_shm->free_bytes;
  }
  return row;
}

GroupRow group_row(const CgroupUse& before, const CgroupUse& after, double seconds) {
  GroupRow row;
  row.cpu_limit = after.cpu_limit;
  row.throttled =
      share(growth(before.throttled_periods, after.throttled_periods), growth(before.periods, after.periods));
  row.cores = per(growth(before.cpu_seconds, after.cpu_seconds), seconds);
  row.pressure = pressure_shares(pressure_share(before.cpu_pressure, after.cpu_pressure, seconds),
                                 pressure_share(before.io_pressure, after.io_pressure, seconds),
                                 pressure_share(before.memory_pressure, after.memory_pressure, seconds));
  row.memory = after.memory;
  row.memory_limit = after.memory_limit;
  return row;
}

/// The sums over a tree of processes.
struct TreeUse {
  double cpu_seconds = 0;
  std::uint64_t major_faults = 0;
  std::optional<ProcessBytes> bytes = ProcessBytes{};  ///< empty as soon as one process does not tell
};

TreeUse tree_use(const std::vector<ProcessUse>& processes) {
  TreeUse sum;
  for (const ProcessUse& process : processes) {
    sum.cpu_seconds += process.cpu_seconds;
    sum.major_faults += process.major_faults;
    if (!process.bytes) sum.bytes.reset();
    if (!sum.bytes) continue;
    sum.bytes->asked += process.bytes->asked;
    sum.bytes->from_storage += process.bytes->from_storage;
    sum.bytes->to_storage += process.bytes->to_storage;
  }
  return sum;
}

/// Processes that were there at both moments and used a core or nearly so in between.
std::uint64_t saturated(const std::vector<ProcessUse>& before, const std::vector<ProcessUse>& after, double seconds) {
  std::uint64_t count = 0;
  for (const ProcessUse& process : after) {
    const auto earlier = std::ranges::find_if(
        before, [&](const ProcessUse& other) { return other.pid == process.pid && other.start == process.start; });
    if (earlier == before.end()) continue;
    const double cores = (process.own_cpu_seconds - earlier->own_cpu_seconds) / seconds;
    if (cores >= watch_rules::kCoresBusy) ++count;
  }
  return count;
}

std::map<std::uint64_t, double> core_waits(const std::vector<ProcessUse>& processes) {
  std::map<std::uint64_t, double> waits;
  for (const ProcessUse& process : processes) {
    for (const ThreadWait& wait : process.core_waits) waits[wait.thread] = wait.seconds;
  }
  return waits;
}

/// Seconds that threads waited for a core in between. A thread that was not there before began in between.
Number core_wait(const std::vector<ProcessUse>& before, const std::vector<ProcessUse>& after) {
  const auto first = core_waits(before);
  const auto last = core_waits(after);
  if (last.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& [thread, seconds] : last) {
    const auto earlier = first.find(thread);
    sum += std::max(0.0, earlier == first.end() ? seconds : seconds - earlier->second);
  }
  return sum;
}

JobRow job_row(const WatchTarget& target, const WatchSample& before, const WatchSample& after, double seconds) {
  const TreeUse first = tree_use(before.processes);
  const TreeUse last = tree_use(after.processes);
  JobRow row;
  for (const ProcessUse& process : after.processes) {
    row.processes += process.threads > 0 ? 1 : 0;
    row.threads += process.threads;
    row.blocked_threads += process.blocked_threads;
  }
  row.processors = target.processors;
  row.cores = per(growth(first.cpu_seconds, last.cpu_seconds), seconds);
  row.queued_threads = per(core_wait(before.processes, after.processes), seconds);
  row.saturated_processes = saturated(before.processes, after.processes, seconds);
  row.major_faults = per(growth(first.major_faults, last.major_faults), seconds);
  if (!first.bytes || !last.bytes) return row;
  row.asked_bytes = per(growth(first.bytes->asked, last.bytes->asked), seconds);
  row.from_storage_bytes = per(growth(first.bytes->from_storage, last.bytes->from_storage), seconds);
  row.to_storage_bytes = per(growth(first.bytes->to_storage, last.bytes->to_storage), seconds);
  return row;
}

DiskRow disk_row(const std::string& name, const DiskCounters& before, const DiskCounters& after, double seconds) {
  const Number reads = growth(before.reads, after.reads);
  const Number writes = growth(before.writes, after.writes);
  const Number read = growth(before.read_bytes, after.read_bytes);
  DiskRow row;
  row.name = name;
  row.reads = per(reads, seconds);
  row.read_bytes = per(read, seconds);
  row.read_size = per(read, reads);
  row.read_wait = per(growth(before.read_wait_seconds, after.read_wait_seconds), reads);
  row.writes = per(writes, seconds);
  row.written_bytes = per(growth(before.written_bytes, after.written_bytes), seconds);
  row.write_wait = per(growth(before.write_wait_seconds, after.write_wait_seconds), writes);
  row.busy = share(growth(before.busy_seconds, after.busy_seconds), seconds);
  row.queue = per(growth(before.queue_seconds, after.queue_seconds), seconds);
  return row;
}

NfsRow nfs_row(const NfsCounters& before, const NfsCounters& after, double seconds) {
  const Number operations = growth(before.operations, after.operations);
  const Number resent = growth(before.retransmissions, after.retransmissions);
  NfsRow row;
  row.operations = per(operations, seconds);
  row.read_bytes = per(growth(before.read_bytes, after.read_bytes), seconds);
  row.retransmissions = per(resent, seconds);
  row.retransmitted = per(resent, operations);
  row.round_trip = per(growth(before.round_trip_seconds, after.round_trip_seconds), operations);
  row.read_round_trip =
      per(growth(before.read_round_trip_seconds, after.read_round_trip_seconds), growth(before.reads, after.reads));
  return row;
}

}  // namespace

WatchRow watch_row(const WatchTarget& target, const WatchSample& before, const WatchSample& after) {
  WatchRow row;
  row.time = rfc3339(after.time);
  row.seconds = after.moment - before.moment;
  row.node = node_row(before, after, row.seconds);
  row.group = group_row(before.group, after.group, row.seconds);
  if (!before.processes.empty() && !after.processes.empty()) row.job = job_row(target, before, after, row.seconds);
  if (before.disk && after.disk) row.disk = disk_row(target.storage.device, *before.disk, *after.disk, row.seconds);
  if (before.nfs && after.nfs) row.nfs = nfs_row(*before.nfs, *after.nfs, row.seconds);
  if (after.cached) {
    row.cached = share(static_cast<double>(after.cached->cached_bytes), static_cast<double>(after.cached->bytes));
  }
  for (const GpuSample& gpu : after.gpus) row.gpus.push_back({gpu.state, gpu.intake});
  row.short_of = shortage_of(row);
  return row;
}

}  // namespace shardkit
