#include "bench/watch/watch_row.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "bench/watch/watch.hpp"
#include "catalog/image_folder.hpp"
#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/page_cache.hpp"
#include "io/publish.hpp"
#include "system/pcie.hpp"

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

void look_at_path(const std::string& path, const system::Probe& probe, WatchTarget& target) {
  target.storage = system::storage_of(path, probe);
  target.path = system::data_path(path, probe);
  const auto mounts = system::read_mounts(probe);
  const system::Mount* const mount = system::find_mount(mounts, target.path);
  if (mount != nullptr && mount->type.starts_with("nfs")) target.nfs_mount = *mount;
}

void look_at_process(std::uint64_t pid, const system::Probe& probe, WatchTarget& target) {
  const auto process = system::find_process(pid, probe);
  if (!process) {
    throw Error(ErrorCode::not_found,
                fmt::format("process {} does not exist, or /proc hides it from this user and container; see `ps -ef`. "
                            "Watch a job in a container from inside it or from the host",
                            pid));
  }
  target.pid = pid;
  target.start = process->start;
  target.command = process->command;
  target.processors = system::allowed_processors(pid, probe);
}

/// What a job reads, as far as its processes have it open now: shards and images, or files so large that they are data.
bool is_data(const std::string& path, const system::Probe& probe) {
  constexpr std::uint64_t kLarge = std::uint64_t{16} << 20U;
  constexpr std::array kSystem{"/proc/", "/sys/", "/dev/", "/usr/", "/lib", "/tmp/", "/var/log/"};
  const auto is_below = [&](const char* folder) { return path.starts_with(folder); };
  const auto facts = probe.stat(path);
  if (!facts || facts->kind != system::PathFacts::Kind::file) return false;
  if (catalog::is_tar_name(path) || catalog::is_image_name(path)) return true;
  return facts->size >= kLarge && std::ranges::none_of(kSystem, is_below);
}

/// Data that is found by the open files of the job: the folder of most of them. Without any, only the process is
/// watched.
void look_at_open_data(std::uint64_t pid, const system::Probe& probe, WatchTarget& target) {
  std::map<std::string, std::size_t> folders;
  for (const system::ProcessUse& process : system::read_process_tree(pid, probe)) {
    const std::string files = fmt::format("/proc/{}/fd", process.pid);
    for (const std::string& file : probe.names(files)) {
      const auto path = probe.resolve(files + "/" + file);
      if (path && is_data(*path, probe)) ++folders[io::parent_folder(*path)];
    }
  }
  if (folders.empty()) return;
  const auto most = std::ranges::max_element(folders, {}, [](const auto& folder) { return folder.second; });
  look_at_path(most->first, probe, target);
}

constexpr std::size_t kMostFilesAsked = 64;
constexpr std::size_t kMostEntries = 4096;
constexpr std::uint64_t kMostBytesAsked = std::uint64_t{4} << 30U;

/// Regular files at `path` or below; links to folders are not followed, so that the walk ends.
std::vector<std::string> some_paths(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (fs::is_regular_file(path, failed)) return {path};
  std::vector<std::string> paths;
  std::size_t entries = 0;
  fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, failed);
  for (const fs::recursive_directory_iterator end; !failed && entry != end && entries < kMostEntries; ++entries) {
    std::error_code unknown;
    if (entry->is_regular_file(unknown)) paths.push_back(entry->path());
    entry.increment(failed);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// `most` of them at equal distances.
template <class T>
std::vector<T> taken_evenly(std::vector<T> all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(std::move(all[i * all.size() / most]));
  return some;
}

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

WatchRow watch_row(const WatchTarget& target, const WatchSample& before, const WatchSample& after) {
  WatchRow row;
  row.time = system::rfc3339(after.time);
  row.seconds = after.moment - before.moment;
  row.node = node_row(before, after, row.seconds);
  row.group = group_row(before.group, after.group, row.seconds);
  if (!before.processes.empty() && !after.processes.empty()) row.job = job_row(target, before, after, row.seconds);
  if (before.disk && after.disk) row.disk = disk_row(target.storage.device, *before.disk, *after.disk, row.seconds);
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

void GpuRow::describe(FieldList& v) {
  state.describe(v);
  v.field({"pcie_intake", Unit::bytes_per_second, "bytes received over PCIe in the last 20 ms; of GPUs in use"},
          intake);
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

WatchTarget find_watch_target(const WatchOptions& options, const system::Probe& probe) {
  WatchTarget target;
  if (options.path && is_digits(*options.path) && !probe.stat(*options.path)) {
    throw Error(ErrorCode::not_found, At{*options.path}, "'{0}' does not exist; to watch process {0}, use --pid {0}",
                *options.path);
  }
  if (options.path) look_at_path(*options.path, probe, target);
  if (options.pid) look_at_process(*options.pid, probe, target);
  if (options.pid && !options.path) look_at_open_data(*options.pid, probe, target);
  return target;
}

WatchedFiles::WatchedFiles(const std::string& path) {
  std::uint64_t bytes = 0;
  for (const std::string& name : taken_evenly(some_paths(path), kMostFilesAsked)) {
    try {
      io::File file = io::File::open_read(name);
      const std::uint64_t size = file.size();
      if (size > kMostBytesAsked) continue;
      bytes += size;
      files_.push_back(std::move(file));
    } catch (const Error&) {  // not for this user, or ended meanwhile: the others are enough
    }
  }
  if (bytes <= kMostBytesAsked) return;
  const double share = static_cast<double>(kMostBytesAsked) / static_cast<double>(bytes);
  const auto most = static_cast<std::size_t>(share * static_cast<double>(files_.size()));
  files_ = taken_evenly(std::move(files_), std::max<std::size_t>(1, most));
}

std::optional<double> WatchedFiles::look() const {
  double bytes = 0;
  double cached = 0;
  try {
    for (const io::File& file : files_) {
      const auto in_cache = io::cached_bytes(file);
      if (!in_cache) return std::nullopt;
      cached += static_cast<double>(*in_cache);
      bytes += static_cast<double>(file.size());
    }
  } catch (const Error&) {  // a server that forgot the file
    return std::nullopt;
  }
  return bytes > 0 ? std::optional(std::min(cached / bytes, 1.0)) : std::nullopt;
}

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
  return is_at_least(gpu.gpu_busy, kGpuInUse) || is_at_least(share_of(gpu.memory_used, gpu.memory), kGpuInUse);
}

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

std::optional<double> link_use(const GpuRow& gpu) {
  const gpu::GpuState& state = gpu.state;
  if (!gpu.intake || !state.pcie_generation || state.c2c_rate) return std::nullopt;
  const auto speed = system::pcie_speed(static_cast<unsigned>(*state.pcie_generation));
  const auto rate = system::pcie_rate(speed, state.pcie_lanes);
  return rate ? std::optional(*gpu.intake / *rate) : std::nullopt;
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
