#include "bench/watch/watch_row.hpp"

#include <algorithm>
#include <map>

#include "bench/watch/shortage.hpp"

namespace shardkit::bench {
namespace {

using Figure = std::optional<double>;

/// The increase of a counter; empty if it went backwards.
template <class T>
Figure growth(T before, T after) {
  if (after < before) return std::nullopt;
  return static_cast<double>(after - before);
}
template <class T>
Figure growth(const std::optional<T>& before, const std::optional<T>& after) {
  return before && after ? growth(*before, *after) : std::nullopt;
}

Figure per(Figure part, Figure whole) {
  if (!part || !whole || *whole <= 0) return std::nullopt;
  return *part / *whole;
}

/// Two counters are never read at the same moment.
Figure share(Figure part, Figure whole) {
  const Figure ratio = per(part, whole);
  return ratio ? Figure(std::min(*ratio, 1.0)) : std::nullopt;
}

/// Of the node or of a control group.
PressureShares pressure_shares(const system::Pressures& before, const system::Pressures& after, double seconds) {
  using system::Pressure;
  using system::Pressures;
  const auto waited = [&](std::optional<Pressure> Pressures::*of, double Pressure::*part) {
    const auto& first = before.*of;
    const auto& last = after.*of;
    return first && last ? share(growth((*first).*part, (*last).*part), seconds) : Figure();
  };
  return {waited(&Pressures::cpu, &Pressure::some_seconds), waited(&Pressures::io, &Pressure::some_seconds),
          waited(&Pressures::io, &Pressure::full_seconds), waited(&Pressures::memory, &Pressure::some_seconds),
          waited(&Pressures::memory, &Pressure::full_seconds)};
}

void add_processors(const system::CpuTimes& before, const system::CpuTimes& after, NodeRow& row) {
  const Figure total = growth(before.total_seconds, after.total_seconds);
  row.cpu_busy = share(growth(before.busy_seconds, after.busy_seconds), total);
  row.stolen = share(growth(before.stolen_seconds, after.stolen_seconds), total);
  if (row.cpu_busy) row.busy_cores = *row.cpu_busy * static_cast<double>(after.processors);
  row.blocked_tasks = static_cast<double>(after.blocked);
}

void add_memory(const std::optional<system::MemoryUse>& before, const system::MemoryUse& after, double seconds,
                NodeRow& row) {
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
  row.pressure = pressure_shares(before.pressure, after.pressure, seconds);
  if (after.memory) add_memory(before.memory, *after.memory, seconds, row);
  if (after.dev_shm) {
    row.dev_shm_size = after.dev_shm->total_bytes;
    row.dev_shm_free = after.dev_shm->free_bytes;
  }
  return row;
}

GroupRow group_row(const system::CgroupUse& before, const system::CgroupUse& after, double seconds) {
  GroupRow row;
  row.cpu_limit = after.cpu_limit;
  row.throttled =
      share(growth(before.throttled_periods, after.throttled_periods), growth(before.periods, after.periods));
  row.cores = per(growth(before.cpu_seconds, after.cpu_seconds), seconds);
  row.pressure = pressure_shares(before.pressure, after.pressure, seconds);
  row.memory = after.memory;
  row.memory_limit = after.memory_limit;
  return row;
}

/// The sums over a tree of processes.
struct TreeUse {
  double cpu_seconds = 0;
  std::uint64_t major_faults = 0;
  std::optional<system::ProcessBytes> bytes =
      system::ProcessBytes{};  ///< empty as soon as the value of one process is unknown
};

TreeUse tree_use(const std::vector<system::ProcessUse>& processes) {
  TreeUse sum;
  for (const system::ProcessUse& process : processes) {
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
std::uint64_t saturated(const std::vector<system::ProcessUse>& before, const std::vector<system::ProcessUse>& after,
                        double seconds) {
  std::uint64_t count = 0;
  for (const system::ProcessUse& process : after) {
    const auto earlier = std::ranges::find_if(before, [&](const system::ProcessUse& other) {
      return other.pid == process.pid && other.start == process.start;
    });
    if (earlier == before.end()) continue;
    const double cores = (process.own_cpu_seconds - earlier->own_cpu_seconds) / seconds;
    if (cores >= watch_rules::kCoresBusy) ++count;
  }
  return count;
}

std::map<std::uint64_t, double> core_waits(const std::vector<system::ProcessUse>& processes) {
  std::map<std::uint64_t, double> waits;
  for (const system::ProcessUse& process : processes) {
    for (const system::ThreadWait& wait : process.core_waits) waits[wait.thread] = wait.seconds;
  }
  return waits;
}

/// Seconds that threads waited for a core in between. A thread that was not there before began in between.
Figure core_wait(const std::vector<system::ProcessUse>& before, const std::vector<system::ProcessUse>& after) {
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
  for (const system::ProcessUse& process : after.processes) {
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

/// A disk that counts nothing while the job reads from storage: its counters are off, or those of another device.
bool stands_still(const system::DiskCounters& before, const system::DiskCounters& after,
                  const std::optional<JobRow>& job) {
  constexpr double kReads = 1e6;  // bytes per second
  return before == after && job && job->from_storage_bytes.value_or(0) > kReads;
}

DiskRow disk_row(const std::string& name, const system::DiskCounters& before, const system::DiskCounters& after,
                 double seconds) {
  const Figure reads = growth(before.reads, after.reads);
  const Figure writes = growth(before.writes, after.writes);
  const Figure read = growth(before.read_bytes, after.read_bytes);
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

NfsRow nfs_row(const system::NfsCounters& before, const system::NfsCounters& after, double seconds) {
  const Figure operations = growth(before.operations, after.operations);
  const Figure resent = growth(before.retransmissions, after.retransmissions);
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
  row.time = system::rfc3339(after.time);
  row.seconds = after.moment - before.moment;
  row.node = node_row(before, after, row.seconds);
  row.group = group_row(before.group, after.group, row.seconds);
  if (!before.processes.empty() && !after.processes.empty()) row.job = job_row(target, before, after, row.seconds);
  if (before.disk && after.disk && !stands_still(*before.disk, *after.disk, row.job))
    row.disk = disk_row(target.storage.device, *before.disk, *after.disk, row.seconds);
  if (before.nfs && after.nfs) row.nfs = nfs_row(*before.nfs, *after.nfs, row.seconds);
  if (before.stalled && after.stalled && before.stalled->pid == after.stalled->pid) {
    row.stalled = StalledRow{after.stalled->pid, after.stalled->command, after.stalled->processes};
  }
  row.cached = after.cached;
  row.gpus = after.gpus;
  row.short_of = shortage_of(row);
  return row;
}

void PressureShares::describe(FieldList& v) {
  v.field({"cpu", Unit::ratio, "share of the time in which at least one task waited for a core"}, cpu);
  v.field({"io", Unit::ratio, "share of the time in which at least one task waited for storage"}, io);
  v.field({"io_full", Unit::ratio, "share of the time in which all active tasks waited for storage"}, io_full);
  v.field({"memory", Unit::ratio, "share of the time in which at least one task waited for memory"}, memory);
  v.field({"memory_full", Unit::ratio, "share of the time in which all active tasks waited for memory"}, memory_full);
}

void NodeRow::describe(FieldList& v) {
  v.field({"cpu_busy", Unit::ratio, "share of the CPU time that was used"}, cpu_busy);
  v.field({"busy_cores", "cores used"}, busy_cores);
  v.field({"stolen", Unit::ratio, "share that the hypervisor gave to other machines"}, stolen);
  v.field({"blocked_tasks", "tasks waiting for storage, at the end"}, blocked_tasks);
  v.field({"pressure", Unit::ratio, "pressure on the whole node (PSI)"}, pressure);
  v.field({"memory", Unit::bytes, "memory of the node"}, memory);
  v.field({"memory_available", Unit::bytes, "memory available to programs without swapping, at the end"},
          memory_available);
  v.field({"page_cache", Unit::bytes, "size of the page cache, at the end"}, page_cache);
  v.field({"page_cache_growth", Unit::bytes_per_second, "change of that size; negative if it shrinks"},
          page_cache_growth);
  v.field({"major_faults", Unit::per_second, "page faults that needed storage"}, major_faults);
  v.field({"swapped_pages", Unit::per_second, "pages swapped in and out"}, swapped_pages);
  v.field({"dev_shm_size", Unit::bytes, "size of /dev/shm"}, dev_shm_size);
  v.field({"dev_shm_free", Unit::bytes, "free space in /dev/shm, at the end"}, dev_shm_free);
}

void GroupRow::describe(FieldList& v) {
  v.field({"cpu_limit", "CPU limit of the control groups, in cores"}, cpu_limit);
  v.field({"throttled", Unit::ratio, "share of the periods in which the limit throttled"}, throttled);
  v.field({"cores", "cores used"}, cores);
  v.field({"pressure", Unit::ratio, "pressure in the control group (PSI)"}, pressure);
  v.field({"memory", Unit::bytes, "memory in use, including page cache, at the end"}, memory);
  v.field({"memory_limit", Unit::bytes, "memory limit of the control groups"}, memory_limit);
}

void JobRow::describe(FieldList& v) {
  v.field({"processes", Unit::count, "number of processes, at the end"}, processes);
  v.field({"threads", Unit::count, "number of threads, at the end"}, threads);
  v.field({"blocked_threads", Unit::count, "threads waiting for storage, at the end"}, blocked_threads);
  v.field({"cores", "cores used"}, cores);
  v.field({"queued_threads", "mean number of threads that were ready to run and waited for a core"}, queued_threads);
  v.field({"saturated_processes", Unit::count, "processes that each used a whole core or more"}, saturated_processes);
  v.field({"processors", Unit::count, "processors that the process may run on"}, processors);
  v.field({"major_faults", Unit::per_second, "page faults that needed storage"}, major_faults);
  v.field({"asked", Unit::bytes_per_second, "bytes of read calls, from storage, page cache, pipes and sockets"},
          asked_bytes);
  v.field({"from_storage", Unit::bytes_per_second, "bytes read from storage"}, from_storage_bytes);
  v.field({"to_storage", Unit::bytes_per_second, "bytes written to storage"}, to_storage_bytes);
}

void DiskRow::describe(FieldList& v) {
  v.field({"name", "block device"}, name);
  v.field({"reads", Unit::per_second, "reads"}, reads);
  v.field({"read", Unit::bytes_per_second, "bytes read"}, read_bytes);
  v.field({"read_size", Unit::bytes, "mean size of a read"}, read_size);
  v.field({"read_wait", Unit::seconds, "mean latency of a read"}, read_wait);
  v.field({"writes", Unit::per_second, "writes"}, writes);
  v.field({"written", Unit::bytes_per_second, "bytes written"}, written_bytes);
  v.field({"write_wait", Unit::seconds, "mean latency of a write"}, write_wait);
  v.field({"busy", Unit::ratio, "share of the time with a request in flight; not a sign of saturation on NVMe"}, busy);
  v.field({"queue", "mean number of requests in flight"}, queue);
}

void NfsRow::describe(FieldList& v) {
  v.field({"operations", Unit::per_second, "requests of all kinds"}, operations);
  v.field({"read", Unit::bytes_per_second, "bytes read"}, read_bytes);
  v.field({"retransmissions", Unit::per_second, "requests retransmitted"}, retransmissions);
  v.field({"retransmitted", Unit::ratio, "share of requests retransmitted"}, retransmitted);
  v.field({"round_trip", Unit::seconds, "mean latency of a request"}, round_trip);
  v.field({"read_round_trip", Unit::seconds, "mean latency of a read"}, read_round_trip);
}

void StalledRow::describe(FieldList& v) {
  v.field({"pid", Unit::count, "process to watch"}, pid);
  v.field({"command", "its name"}, command);
  v.field({"processes", Unit::count, "processes of this program that waited"}, processes);
}

void WatchRow::describe(FieldList& v) {
  v.field({"time", "end of the interval, UTC"}, time);
  v.field({"seconds", Unit::seconds, "length of the interval"}, seconds);
  v.field({"short_of", "bottleneck; compute: none, the GPUs were busy"}, short_of);
  v.field({"node", "the whole node"}, node);
  v.field({"group", "control group of the process, or of iobench itself"}, group);
  v.field({"job", "the process and its descendants"}, job);
  v.field(
      {"stalled", "without a process: the one whose processes waited for storage before the interval and at its end"},
      stalled);
  v.field({"disk", "block device of PATH, all its users together"}, disk);
  v.field({"nfs", "NFS mount of PATH, from client counters"}, nfs);
  v.field({"cached", Unit::ratio, "share of sampled files of PATH in the page cache, at the end"}, cached);
  v.field({"gpus", "GPUs as reported by their driver, at the end"}, gpus);
}

}  // namespace shardkit::bench
