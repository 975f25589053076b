#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/watch/watch_sample.hpp"
#include "core/fields.hpp"

/// The difference of two samples of a machine, and the bottleneck. Values that are not available are empty, never 0. So
/// are differences of a counter that went backwards, because it wrapped or its device, mount or process was replaced.
/// docs/explain/watch.md describes the rules.
namespace shardkit::bench {

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

/// Processes that waited for storage at the end of the interval, and before it.
struct StalledRow {
  std::uint64_t pid = 0;  ///< to watch it by
  std::string command;
  std::uint64_t processes = 0;

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
  std::optional<JobRow> job;          ///< empty without a process
  std::optional<StalledRow> stalled;  ///< empty with a process, and if none waited at both ends
  std::optional<DiskRow> disk;
  std::optional<NfsRow> nfs;
  std::optional<double> cached;  ///< share of sampled files of PATH in the page cache, at its end
  std::vector<GpuRow> gpus;

  void describe(FieldList& v);
};

/// The difference between `before` and `after`, with the bottleneck.
WatchRow watch_row(const WatchTarget& target, const WatchSample& before, const WatchSample& after);

}  // namespace shardkit::bench
