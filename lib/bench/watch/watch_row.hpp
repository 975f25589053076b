#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "gpu/gpu_monitor.hpp"
#include "io/file.hpp"
#include "system/block_device.hpp"
#include "system/clock.hpp"
#include "system/cpu.hpp"
#include "system/limits.hpp"
#include "system/memory.hpp"
#include "system/network_storage.hpp"
#include "system/probe.hpp"
#include "system/processes.hpp"
#include "system/storage.hpp"

/// Samples of a machine, the difference of two samples, and the bottleneck. Values that are not available are empty,
/// never 0. So are differences of a counter that went backwards, because it wrapped or its device, mount or process was
/// replaced. docs/explain/watch.md describes the rules.
namespace shardkit::bench {

struct WatchOptions;

/// What is watched. It is fixed at the start: a process is identified by its number and start time, data by its mount.
struct WatchTarget {
  std::string path;  ///< with links resolved; empty without a path
  system::StorageFacts storage;
  std::optional<system::Mount> nfs_mount;  ///< of the path
  std::optional<std::uint64_t> pid;
  std::uint64_t start = 0;  ///< of the process, in ticks
  std::string command;
  std::optional<std::uint64_t> processors;  ///< that the process may run on
};

/// Throws Error{not_found} for a missing process, Error{not_found, denied} for a missing path, and Error{usage} for one
/// that contains no data.
WatchTarget find_watch_target(const WatchOptions& options, const system::Probe& probe);

/// Some files of the watched data, kept open while watched, so that sampling needs neither lookups nor requests to a
/// server: at most 64 files and 4 GiB, evenly distributed over the first 4096 entries found. A sample visits each
/// cached page of them. One thread at a time.
class WatchedFiles {
 public:
  /// A file, or a folder with files at any depth. Files that cannot be opened, or are larger than the limit for all,
  /// are left out. Never throws.
  explicit WatchedFiles(const std::string& path);
  /// None.
  WatchedFiles() = default;

  std::size_t count() const { return files_.size(); }
  /// Share of their bytes in the page cache. Empty without files, and if the system does not report it to this user
  /// (io/page_cache.hpp).
  std::optional<double> look() const;

 private:
  std::vector<io::File> files_;
};

/// A GPU at one moment.
struct GpuRow {
  gpu::GpuState state;
  std::optional<double>
      intake;  ///< bytes per second over its link; read only for GPUs in use, because it takes 20 ms each

  void describe(FieldList& v);
};

/// Counters and levels at one moment. Empty if not available.
struct WatchSample {
  double moment = 0;  ///< seconds on Clock::monotonic()
  system::WallTime time;
  std::optional<system::CpuTimes> cpu;
  std::optional<system::MemoryUse> memory;
  system::Pressures pressure;  ///< of the node
  std::optional<system::SpaceFacts> dev_shm;
  system::CgroupUse group;                    ///< of the process, or of iobench itself
  std::vector<system::ProcessUse> processes;  ///< the watched process and its descendants
  bool process_ended = false;
  std::optional<system::DiskCounters> disk;
  std::optional<system::NfsCounters> nfs;
  std::optional<double> cached;  ///< share of some files of the data
  std::vector<GpuRow> gpus;
};

/// Sources of samples. They outlive their users.
struct WatchSources {
  const system::Probe& probe;
  system::Clock& clock;
  const gpu::GpuMonitor* gpus = nullptr;  ///< null if there is none
  const WatchedFiles& files;
};

/// Only reads; never throws.
WatchSample take_watch_sample(const WatchTarget& target, const WatchSources& sources);

/// In the order in which they are checked: a lack of memory makes storage look slow, a CPU limit makes cores look busy.
/// If both cores and storage are short, it is storage if more threads wait for it, else cores.
enum class Shortage { nothing, compute, cpu_limit, memory, cores, gpu_link, storage, dev_shm };
constexpr auto enum_names(Shortage) {
  return std::to_array<std::string_view>(
      {"nothing", "compute", "cpu_limit", "memory", "cores", "gpu_link", "storage", "dev_shm"});
}

/// Shares of the interval in which tasks waited (PSI).
struct PressureShares {
  std::optional<double> cpu;  ///< at least one task waited for a core
  std::optional<double> io;
  std::optional<double> io_full;  ///< all active tasks waited
  std::optional<double> memory;
  std::optional<double> memory_full;

  void describe(FieldList& v);
};

struct NodeRow {
  std::optional<double> cpu_busy;       ///< share of its CPU time
  std::optional<double> busy_cores;     ///< cores used
  std::optional<double> stolen;         ///< share used by other machines of the hypervisor
  std::optional<double> blocked_tasks;  ///< waiting for storage, at its end
  PressureShares pressure;
  std::optional<std::uint64_t> memory;            ///< bytes
  std::optional<std::uint64_t> memory_available;  ///< bytes, at its end
  std::optional<std::uint64_t> page_cache;        ///< bytes, at its end
  std::optional<double> page_cache_growth;        ///< bytes per second, negative if it shrinks
  std::optional<double> major_faults;             ///< per second
  std::optional<double> swapped_pages;            ///< per second, in and out
  std::optional<std::uint64_t> dev_shm_size;      ///< bytes
  std::optional<std::uint64_t> dev_shm_free;      ///< bytes, at its end

  void describe(FieldList& v);
};

/// The control group of the watched process, or of iobench itself.
struct GroupRow {
  std::optional<double> cpu_limit;  ///< cores
  std::optional<double> throttled;  ///< share of the limit's periods that were throttled
  std::optional<double> cores;
  PressureShares pressure;
  std::optional<std::uint64_t> memory;  ///< bytes, at its end
  std::optional<std::uint64_t> memory_limit;

  void describe(FieldList& v);
};

/// The watched process and its descendants.
struct JobRow {
  std::uint64_t processes = 0;  ///< at its end
  std::uint64_t threads = 0;
  std::uint64_t blocked_threads = 0;         ///< wait for storage, at its end
  std::optional<double> cores;               ///< cores used
  std::optional<double> queued_threads;      ///< that were ready to run and waited for a core, mean over the interval
  std::uint64_t saturated_processes = 0;     ///< that used a whole core or more
  std::optional<std::uint64_t> processors;   ///< that it may use
  std::optional<double> major_faults;        ///< per second
  std::optional<double> asked_bytes;         ///< per second, by read calls
  std::optional<double> from_storage_bytes;  ///< per second
  std::optional<double> to_storage_bytes;    ///< per second

  void describe(FieldList& v);
};

/// The block device of PATH, all its users together.
struct DiskRow {
  std::string name;
  std::optional<double> reads;          ///< per second
  std::optional<double> read_bytes;     ///< per second
  std::optional<double> read_size;      ///< mean bytes of a read
  std::optional<double> read_wait;      ///< mean seconds of a read, from request to answer
  std::optional<double> writes;         ///< per second
  std::optional<double> written_bytes;  ///< per second
  std::optional<double> write_wait;     ///< mean seconds of a write
  std::optional<double> busy;           ///< share of the interval with a request in flight
  std::optional<double> queue;          ///< mean number of requests in flight

  void describe(FieldList& v);
};

/// The NFS mount of PATH, from client counters.
struct NfsRow {
  std::optional<double> operations;       ///< per second
  std::optional<double> read_bytes;       ///< per second
  std::optional<double> retransmissions;  ///< per second
  std::optional<double> retransmitted;    ///< share of its operations that were retransmitted
  std::optional<double> round_trip;       ///< mean seconds of an operation, from request to answer
  std::optional<double> read_round_trip;  ///< the same of reads alone

  void describe(FieldList& v);
};

struct WatchRow {
  std::string time;    ///< of its end, RFC 3339, UTC
  double seconds = 0;  ///< how long it was
  Shortage short_of = Shortage::nothing;
  NodeRow node;
  GroupRow group;
  std::optional<JobRow> job;  ///< empty without a process
  std::optional<DiskRow> disk;
  std::optional<NfsRow> nfs;
  std::optional<double> cached;  ///< share of sampled files of PATH in the page cache, at its end
  std::vector<GpuRow> gpus;

  void describe(FieldList& v);
};

/// The difference between `before` and `after`, with the bottleneck.
WatchRow watch_row(const WatchTarget& target, const WatchSample& before, const WatchSample& after);

/// Thresholds of the rules, as shares.
namespace watch_rules {
inline constexpr double kGpuInUse = 0.05;       ///< of its time busy, or of its memory in use
inline constexpr double kGpuBusy = 0.8;         ///< mean over the GPUs in use: then compute is the bottleneck
inline constexpr double kThrottled = 0.1;       ///< of the CPU limit's periods
inline constexpr double kMemoryPressure = 0.1;  ///< of the time, at least one task
inline constexpr double kMemoryLeft = 0.05;     ///< of the memory available, without pressure values
inline constexpr double kCoresBusy = 0.9;       ///< of the processors that the job may use, or of the node's
inline constexpr double kCoresWanted = 0.5;  ///< cores in use and waited for: a job that needs less does not lack any
inline constexpr double kQueuedShare = 0.1;  ///< threads that wait for a core, of these and those that run
inline constexpr double kCpuPressure = 0.1;  ///< of the time, at least one task; without the former
inline constexpr double kIdleCores = 0.01;   ///< cores in use or waited for: a job with less does nothing
inline constexpr double kLinkBusy = 0.8;     ///< of what a GPU's link carries
inline constexpr double kIoPressure = 0.2;   ///< of the time, at least one task, if available
inline constexpr double kIoPressureFull = 0.1;  ///< of the time, all tasks
inline constexpr double kBlockedShare = 0.2;    ///< threads that wait for storage, of these and those that run
inline constexpr double kDevShmLeft = 0.1;      ///< of /dev/shm
inline constexpr double kNoticeable = 0.1;      ///< of the watched time: less is not a verdict
inline constexpr double kMostly = 0.5;          ///< of the watched time
}  // namespace watch_rules

/// A GPU in use: it computes, or its memory is in use.
bool is_in_use(const gpu::GpuState& gpu);

/// Mean share of the time that the GPUs in use were busy; empty if none reports it.
std::optional<double> mean_gpu_busy(const WatchRow& row);

/// Received bytes as share of the current rate of its link; empty if the driver does not report both.
std::optional<double> link_use(const GpuRow& gpu);

/// Whether the pressure of the control group of the watched process is known.
bool has_own_pressure(const WatchRow& row);

/// That pressure if it is known, else that of the node.
PressureShares felt_pressure(const WatchRow& row);

/// Threads that wait for storage, as share of these and the cores at work: of the job, else of the node. Empty if
/// unknown.
std::optional<double> blocked_share(const WatchRow& row);

/// The bottleneck of an interval; row.short_of is ignored. Busy GPUs do not wait, whatever the other values are.
Shortage shortage_of(const WatchRow& row);

}  // namespace shardkit::bench
