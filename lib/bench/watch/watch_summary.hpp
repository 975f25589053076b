#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/watch/watch_row.hpp"
#include "core/fields.hpp"

/// The intervals of a watch in a few values. Pure.
namespace shardkit::bench {

/// A weighted mean; empty without values.
class WeightedMean {
 public:
  void add(const std::optional<double>& value, double weight);
  std::optional<double> value() const;

 private:
  double sum_ = 0;
  double weight_ = 0;
};

/// All intervals of a watch in a few values. Rates and shares are means over the time in which they were available;
/// latencies are means over the requests.
struct WatchSummary {
  std::uint64_t intervals = 0;
  double seconds = 0;
  std::array<double, kEnumNames<Shortage>.size()> short_seconds{};  ///< by Shortage

  // The node.
  WeightedMean cpu_busy;
  WeightedMean busy_cores;
  std::optional<std::uint64_t> memory;
  std::optional<std::uint64_t> least_memory_available;
  std::optional<std::uint64_t> dev_shm_size;
  std::optional<std::uint64_t> least_dev_shm_free;
  WeightedMean swapped_pages;
  // Pressure as used by the rules (felt_pressure()).
  WeightedMean cpu_pressure;
  WeightedMean io_pressure;
  WeightedMean io_full;
  WeightedMean memory_pressure;
  WeightedMean blocked_share;
  // The control group.
  std::optional<double> cpu_limit;
  WeightedMean throttled;
  std::optional<std::uint64_t> memory_limit;
  std::optional<std::uint64_t> most_group_memory;
  // The job.
  bool has_job = false;
  bool has_own_pressure = false;
  bool hides_bytes = false;  ///< bytes of some process were not visible
  std::optional<std::uint64_t> processors;
  std::uint64_t most_processes = 0;
  WeightedMean blocked_threads;
  WeightedMean cores;
  WeightedMean queued_threads;
  WeightedMean saturated_processes;
  WeightedMean asked_bytes;
  WeightedMean from_storage_bytes;
  WeightedMean to_storage_bytes;
  // The data.
  WeightedMean disk_reads;
  WeightedMean disk_read_bytes;
  WeightedMean disk_read_size;
  WeightedMean disk_read_wait;
  WeightedMean disk_written_bytes;
  WeightedMean disk_busy;
  WeightedMean nfs_operations;
  WeightedMean nfs_read_bytes;
  WeightedMean nfs_retransmitted;
  WeightedMean nfs_round_trip;
  WeightedMean cached;
  // The GPUs in use.
  std::uint64_t most_gpus_in_use = 0;
  WeightedMean gpu_busy;
  WeightedMean gpu_slowed;    ///< share of the time in which heat or lack of power throttled one
  WeightedMean link_use;      ///< of the busiest link, relative to its rate
  std::string lost_gpu;       ///< "GPU 1 (lost)"; empty: all answer
  std::string degraded_link;  ///< "GPU 0 at 0000:17:00.0 has 8 of 16 lanes"; empty if there is none
  // The node without a job.
  std::map<std::uint64_t, StalledRow> stalled;  ///< by pid, with the most processes
  std::map<std::uint64_t, double> stalled_seconds;

  void add(const WatchRow& row);
  double share(Shortage shortage) const;
  /// The process that waited for storage most of the time; empty if none did for half of it.
  std::optional<StalledRow> stalled_job() const;

  void describe(FieldList& v);
};

}  // namespace shardkit::bench
