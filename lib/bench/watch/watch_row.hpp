#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/watch/shortage.hpp"
#include "bench/watch/watch_sample.hpp"
#include "core/fields.hpp"

/// What happened between two looks at the machine. What it does not tell is empty, never 0: so is what was counted by a
/// counter that went backwards, because it wrapped or its device, mount or process was replaced.
namespace shardkit::bench {

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

struct GpuRow {
  gpu::GpuState state;           ///< at its end
  std::optional<double> intake;  ///< bytes per second over its link, of the last 20 ms

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

}  // namespace shardkit::bench
