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

/// Looks at a machine, what happened between two of them, and what was short. What it does not tell is empty, never 0:
/// so is what was counted by a counter that went backwards, because it wrapped or its device, mount or process was
/// replaced. docs/watch.md says the rules in words.
namespace shardkit::bench {

struct WatchOptions;

/// What is watched. It stays what it was at the start: a process is known by its number and its start, data by its
/// mount.
struct WatchTarget {
  std::string path;  ///< links followed; empty without one
  system::StorageFacts storage;
  std::optional<system::Mount> nfs_mount;  ///< of the path
  std::optional<std::uint64_t> pid;
  std::uint64_t start = 0;  ///< of the process, in ticks
  std::string command;
  std::optional<std::uint64_t> processors;  ///< that the process may run on
};

/// Throws Error{not_found} for a process that is not there, Error{not_found, denied} for a path that is not, and
/// Error{usage} for one that holds no data by its kind.
WatchTarget find_watch_target(const WatchOptions& options, const system::Probe& probe);

/// Some files of the watched data, open for as long as they are watched, so that a look at them costs neither lookups
/// nor requests to a server: at most 64 and 4 GiB, taken evenly from the first 4096 entries that a walk meets. A look
/// visits each cached page of them. One thread at a time.
class WatchedFiles {
 public:
  /// A file, or a folder with files at any depth. What cannot be opened or is larger than all may be together is left
  /// out; nothing throws.
  explicit WatchedFiles(const std::string& path);
  /// None.
  WatchedFiles() = default;

  std::size_t count() const { return files_.size(); }
  /// What share of their bytes lies in the page cache. Empty without files, and where the system does not tell this
  /// user (io/page_cache.hpp).
  std::optional<double> look() const;

 private:
  std::vector<io::File> files_;
};

/// A GPU at a moment.
struct GpuRow {
  gpu::GpuState state;
  std::optional<double> intake;  ///< bytes per second over its link; asked of GPUs in use alone, as it takes 20 ms each

  void describe(FieldVisitor& v);
};

/// Counters and levels at a moment, as the machine tells them. What it does not tell is empty.
struct WatchSample {
  double moment = 0;  ///< seconds on Clock::monotonic()
  system::WallTime time;
  std::optional<system::CpuTimes> cpu;
  std::optional<system::MemoryUse> memory;
  system::Pressures pressure;  ///< of the node
  std::optional<system::SpaceFacts> dev_shm;
  system::CgroupUse group;                    ///< of the process, or this program's own
  std::vector<system::ProcessUse> processes;  ///< the watched one and all below it
  bool process_ended = false;
  std::optional<system::DiskCounters> disk;
  std::optional<system::NfsCounters> nfs;
  std::optional<double> cached;  ///< share of some files of the data
  std::vector<GpuRow> gpus;
};

/// Whom to ask. They outlive who holds this.
struct WatchSources {
  const system::Probe& probe;
  system::Clock& clock;
  const gpu::GpuMonitor* gpus = nullptr;  ///< null where there is none
  const WatchedFiles& files;
};

/// Reads only; nothing throws.
WatchSample take_watch_sample(const WatchTarget& target, const WatchSources& sources);

/// In the order in which they are asked: memory that is short makes storage look slow, a CPU limit makes cores look
/// short. Where cores and storage are both short it is storage if more threads wait for that, else cores.
enum class Shortage { nothing, compute, cpu_limit, memory, cores, gpu_link, storage, dev_shm };
constexpr auto enum_names(Shortage) {
  return std::to_array<std::string_view>(
      {"nothing", "compute", "cpu_limit", "memory", "cores", "gpu_link", "storage", "dev_shm"});
}

/// Shares of the interval in which tasks waited (PSI).
struct PressureShares {
  std::optional<double> cpu;  ///< at least one task waited for a core
  std::optional<double> io;
  std::optional<double> io_full;  ///< all tasks that had something to do waited
  std::optional<double> memory;
  std::optional<double> memory_full;

  void describe(FieldVisitor& v);
};

struct NodeRow {
  std::optional<double> cpu_busy;       ///< share of its processors' time
  std::optional<double> busy_cores;     ///< the same in cores
  std::optional<double> stolen;         ///< share that a hypervisor gave to others
  std::optional<double> blocked_tasks;  ///< that wait for storage, at its end
  PressureShares pressure;
  std::optional<std::uint64_t> memory;            ///< bytes
  std::optional<std::uint64_t> memory_available;  ///< bytes, at its end
  std::optional<std::uint64_t> page_cache;        ///< bytes, at its end
  std::optional<double> page_cache_growth;        ///< bytes per second, negative where it shrinks
  std::optional<double> major_faults;             ///< per second
  std::optional<double> swapped_pages;            ///< per second, in and out
  std::optional<std::uint64_t> dev_shm_size;      ///< bytes
  std::optional<std::uint64_t> dev_shm_free;      ///< bytes, at its end

  void describe(FieldVisitor& v);
};

/// The control group of the watched process, or this program's own.
struct GroupRow {
  std::optional<double> cpu_limit;  ///< cores
  std::optional<double> throttled;  ///< share of the limit's periods in which it cut in
  std::optional<double> cores;
  PressureShares pressure;
  std::optional<std::uint64_t> memory;  ///< bytes, at its end
  std::optional<std::uint64_t> memory_limit;

  void describe(FieldVisitor& v);
};

/// The watched process and all below it.
struct JobRow {
  std::uint64_t processes = 0;  ///< at its end
  std::uint64_t threads = 0;
  std::uint64_t blocked_threads = 0;         ///< in uninterruptible sleep, at its end
  std::optional<double> cores;               ///< processor time per time
  std::optional<double> queued_threads;      ///< that were ready to run and waited for a core, mean over the interval
  std::uint64_t saturated_processes = 0;     ///< that kept a whole core busy, or more
  std::optional<std::uint64_t> processors;   ///< that it may run on
  std::optional<double> major_faults;        ///< per second
  std::optional<double> asked_bytes;         ///< per second, by read calls
  std::optional<double> from_storage_bytes;  ///< per second
  std::optional<double> to_storage_bytes;    ///< per second

  void describe(FieldVisitor& v);
};

/// The block device below PATH, all its users together.
struct DiskRow {
  std::string name;
  std::optional<double> reads;          ///< per second
  std::optional<double> read_bytes;     ///< per second
  std::optional<double> read_size;      ///< mean bytes of a read
  std::optional<double> read_wait;      ///< mean seconds of a read, from request to answer
  std::optional<double> writes;         ///< per second
  std::optional<double> written_bytes;  ///< per second
  std::optional<double> write_wait;     ///< mean seconds of a write
  std::optional<double> busy;           ///< share of the interval with a request under way
  std::optional<double> queue;          ///< mean requests under way

  void describe(FieldVisitor& v);
};

/// The NFS mount of PATH, as its client counts.
struct NfsRow {
  std::optional<double> operations;       ///< per second
  std::optional<double> read_bytes;       ///< per second
  std::optional<double> retransmissions;  ///< per second
  std::optional<double> retransmitted;    ///< share of its operations that were sent again
  std::optional<double> round_trip;       ///< mean seconds of an operation, from sending to answer
  std::optional<double> read_round_trip;  ///< the same of reads alone

  void describe(FieldVisitor& v);
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
  std::optional<double> cached;  ///< share of some files of PATH in the page cache, at its end
  std::vector<GpuRow> gpus;

  void describe(FieldVisitor& v);
};

/// What happened from `before` to `after`; what is short is judged too.
WatchRow watch_row(const WatchTarget& target, const WatchSample& before, const WatchSample& after);

/// Shares from which on a rule says so.
namespace watch_rules {
inline constexpr double kGpuInUse = 0.05;       ///< of its time busy, or of its memory in use
inline constexpr double kGpuBusy = 0.8;         ///< mean over the GPUs in use: nothing else can be short
inline constexpr double kThrottled = 0.1;       ///< of the CPU limit's periods
inline constexpr double kMemoryPressure = 0.1;  ///< of the time, some task
inline constexpr double kMemoryLeft = 0.05;     ///< of the memory available, where no pressure is told
inline constexpr double kCoresBusy = 0.9;       ///< of the processors that the job may use, or of the node's
inline constexpr double kCoresWanted = 0.5;     ///< cores in use and waited for: a job that wants less lacks none
inline constexpr double kQueuedShare = 0.1;     ///< threads that wait for a core, of these and those that run
inline constexpr double kCpuPressure = 0.1;     ///< of the time, some task; where the former is not told
inline constexpr double kLinkBusy = 0.8;        ///< of what a GPU's link carries
inline constexpr double kIoPressure = 0.2;      ///< of the time, some task, where told
inline constexpr double kIoPressureFull = 0.1;  ///< of the time, all tasks
inline constexpr double kBlockedShare = 0.2;    ///< threads that wait for storage, of these and those that run
inline constexpr double kDevShmLeft = 0.1;      ///< of /dev/shm
inline constexpr double kNoticeable = 0.1;      ///< of the watched time: less of a shortage is no verdict
inline constexpr double kMostly = 0.5;          ///< of the watched time
}  // namespace watch_rules

/// A GPU that some job holds: it computes, or its memory is in use.
bool is_in_use(const gpu::GpuState& gpu);

/// Mean share of the time that the GPUs in use were busy; empty without any that tells.
std::optional<double> mean_gpu_busy(const WatchRow& row);

/// What a GPU takes in, of what its link carries now; empty when the driver does not tell both.
std::optional<double> link_use(const GpuRow& gpu);

/// The waiting that counts: that of the control group of the watched process, where it is told, else the node's.
PressureShares felt_pressure(const WatchRow& row);

/// Threads that wait for storage, of these and the cores that work: of a job, else of the node. Empty when not known.
std::optional<double> blocked_share(const WatchRow& row);

/// What was short in an interval; row.short_of is not read. GPUs that are busy wait for nothing, whatever else shows.
Shortage shortage_of(const WatchRow& row);

}  // namespace shardkit::bench
