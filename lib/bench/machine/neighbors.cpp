#include "bench/machine/neighbors.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/timing/timed_run.hpp"
#include "core/units.hpp"
#include "system/block_device.hpp"
#include "system/cpu.hpp"
#include "system/limits.hpp"
#include "system/network_storage.hpp"
#include "system/processes.hpp"

namespace shardkit::bench {
namespace {

/// Of these processes and their children: sshfs reads through an ssh of its own.
double cpu_seconds_of(const std::vector<std::uint64_t>& processes, const system::Probe& probe) {
  double seconds = 0;
  for (const std::uint64_t process : processes) {
    for (const system::ProcessUse& use : system::read_process_tree(process, probe)) seconds += use.cpu_seconds;
  }
  return seconds;
}

/// Read and written by all processes; empty if unknown.
std::optional<double> bytes_between(const system::DiskMoment& before, const system::DiskMoment& after) {
  const auto grown = system::disk_growth(before, after);
  return grown ? std::optional(static_cast<double>(grown->read_bytes + grown->written_bytes)) : std::nullopt;
}

}  // namespace

std::string Neighbors::text() const {
  std::string used;
  if (cores_used > 0.1 * cores) {
    used = fmt::format("{:.1f} of {:g} cores{}", cores_used, cores,
                       may_include_server ? " (perhaps for this mount: its process was not found)" : "");
  }
  if (device_ratio > 0.05) {
    used += fmt::format("{}{} of the disk", used.empty() ? "" : " and ", format_rate(*device_bytes_per_second));
  }
  return used.empty() ? used : "others used " + used;
}

void Neighbors::describe(FieldList& v) {
  std::string disturbance = text();
  v.field({"text", "what made rates lower than on an idle machine; empty if nothing did"}, disturbance);
  v.field({"cores_used", "mean number of cores that other processes used, of those that this process may use"},
          cores_used);
  v.field({"may_include_server",
           "true on a FUSE mount whose own process was not found: its cores may be among those of others"},
          may_include_server);
  v.field({"cores", "cores that this process may use"}, cores);
  v.field({"device_bytes_per_second", Unit::bytes_per_second,
           "bytes that others read and wrote on the data's disk; absent if its counters are unknown"},
          device_bytes_per_second);
  v.field({"device_ratio", Unit::ratio,
           "that, divided by the highest rate of the disk that was seen; 0 if this process did not use it"},
          device_ratio);
}

NeighborMeter::NeighborMeter(const system::StorageFacts& storage, double cores, const system::Probe& probe)
    : device_(storage.device),
      servers_(storage.storage_class == system::StorageClass::fuse ? system::fuse_servers(storage.mount_point, probe)
                                                                   : std::vector<std::uint64_t>()),
      misses_server_(storage.storage_class == system::StorageClass::fuse && servers_.empty()),
      cores_(cores),
      probe_(probe),
      processors_(system::parse_cpu_list(system::read_cpu(probe).affinity_list)),
      start_(read()),
      last_(start_.disk) {}

NeighborMeter::DiskUse NeighborMeter::disk_use(const std::optional<system::CpuTimes>& cpu) const {
  DiskUse now;
  if (cpu) now.seconds = cpu->total_seconds / static_cast<double>(std::max<std::size_t>(processors_.size(), 1));
  now.moment = system::look_at_disk(device_, probe_);
  return now;
}

NeighborMeter::Counters NeighborMeter::read() const {
  Counters now;
  const auto cpu = system::read_cpu_times(probe_, processors_);
  now.disk = disk_use(cpu);
  if (cpu) {
    now.others_cpu_seconds = cpu->busy_seconds - cpu->interrupt_seconds - process_cpu_seconds() -
                             system::kernel_cpu_seconds(probe_) - cpu_seconds_of(servers_, probe_);
  }
  if (const auto own = system::read_process_bytes(static_cast<std::uint64_t>(::getpid()), probe_)) {
    now.own_storage_bytes = static_cast<double>(own->from_storage + own->to_storage);
  }
  return now;
}

/// The clock of /proc/stat has ticks of 10 ms: of less time, two of them on two CPUs would count as disturbance.
constexpr double kLeastSeconds = 0.5;

/// Rates over less are those of a few requests, and the clock of /proc/stat is too coarse for them.
constexpr double kLeastBetweenLooks = 0.2;

void NeighborMeter::note_rate(const DiskUse& now) {
  const double seconds = now.seconds - last_.seconds;
  if (seconds < kLeastBetweenLooks) return;
  device_most_ = std::max(device_most_, bytes_between(last_.moment, now.moment).value_or(0) / seconds);
  last_ = now;
}

void NeighborMeter::look() { note_rate(disk_use(system::read_cpu_times(probe_, processors_))); }

Neighbors NeighborMeter::so_far() {
  const Counters now = read();
  note_rate(now.disk);
  const double seconds = now.disk.seconds - start_.disk.seconds;
  const double own = now.own_storage_bytes - start_.own_storage_bytes;
  const auto device = bytes_between(start_.disk.moment, now.disk.moment);
  Neighbors found;
  found.cores = cores_;
  if (seconds < kLeastSeconds) return found;
  found.seconds = seconds;
  // What others do on CPUs that a quota leaves unused takes nothing away.
  const double unused = std::max(static_cast<double>(processors_.size()) - cores_, 0.0);
  found.cores_used = std::max((now.others_cpu_seconds - start_.others_cpu_seconds) / seconds - unused, 0.0);
  found.may_include_server = misses_server_;
  if (!device) return found;
  found.device_bytes_per_second = found.device_ratio = 0;
  if (own <= 0 || *device <= own) return found;
  found.device_most = std::max(device_most_, *device / seconds);
  found.device_bytes_per_second = (*device - own) / seconds;
  found.device_ratio = *found.device_bytes_per_second / found.device_most;
  return found;
}

NeighborWatch::NeighborWatch(const system::StorageFacts& storage)
    : meter_(storage, static_cast<double>(system::usable_threads()), system::live_probe()) {
  if (storage.device.empty()) return;  // there is no disk to look at
  thread_ = std::jthread([this](const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kBetweenLooks{500};
    std::unique_lock lock(mutex_);
    while (!never_.wait_for(lock, stop, kBetweenLooks, [] { return false; }) && !stop.stop_requested()) {
      meter_.look();
    }
  });
}

Neighbors NeighborWatch::so_far() {
  const std::scoped_lock lock(mutex_);
  return meter_.so_far();
}

Neighbors together(std::span<const Neighbors> measurements) {
  Neighbors all;
  for (const Neighbors& one : measurements) all.seconds += one.seconds;
  for (const Neighbors& one : measurements) {
    if (one.seconds <= 0) continue;
    const double share = one.seconds / all.seconds;
    all.cores = one.cores;
    all.cores_used += share * one.cores_used;
    if (one.device_bytes_per_second) {
      all.device_bytes_per_second = all.device_bytes_per_second.value_or(0) + share * *one.device_bytes_per_second;
    }
    all.device_most = std::max(all.device_most, one.device_most);
    all.may_include_server = all.may_include_server || one.may_include_server;
  }
  all.device_ratio = all.device_bytes_per_second;
  if (all.device_most > 0) all.device_ratio = *all.device_bytes_per_second / all.device_most;
  return all;
}

void warn_of_neighbors(const Neighbors& neighbors, Context& context) {
  if (!neighbors.disturb()) return;
  context.warn("disturbed", fmt::format("{}: an idle machine would be faster; compare gives no verdict on this result",
                                        neighbors.text()));
}

}  // namespace shardkit::bench
