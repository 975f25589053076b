#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "system/block_device.hpp"
#include "system/cpu.hpp"
#include "system/probe.hpp"
#include "system/storage.hpp"

/// What other processes of this machine used while something was measured.
namespace shardkit::bench {

/// Means over a measurement. Kernel threads and interrupts do not count, because they may work for the measurement; the
/// time that a hypervisor gave to other machines does.
struct Neighbors {
  double cores_used = 0;  ///< of those that this process may use
  double cores = 0;       ///< that this process may use
  /// Empty without a disk, or if it is unknown. 0 if this process did not use it.
  std::optional<double> device_bytes_per_second;
  std::optional<double> device_ratio;  ///< that, divided by the highest rate of the data's disk that was seen meanwhile
  bool may_include_server = false;  ///< cores_used may be those of the file system's own process (FUSE)
  double device_most = 0;           ///< that rate, in bytes per second, of all processes together
  double seconds = 0;               ///< that were measured; 0: too short to say anything

  /// True if rates are lower than those of an idle machine: above 10 % of the cores, or 5 % of the disk's rate.
  bool disturb() const { return cores_used > 0.1 * cores || device_ratio > 0.05; }
  /// "others used 1.3 of 2 cores and 40.0 MB/s of the disk", of what disturbs; empty if nothing does.
  std::string text() const;
  void describe(FieldList& v);
};

/// Over several measurements, by their time; the highest rate of the disk is that of all. Those without time are left
/// out.
Neighbors together(std::span<const Neighbors> measurements);

/// Warns if they disturbed a measurement that no verdict judges.
void warn_of_neighbors(const Neighbors& neighbors, Context& context);

/// Measures from its construction on, for data on `storage` and this process with `cores`. Bytes of others count only
/// if this process uses the disk, too. The process that serves a FUSE mount works for the measurement and is no other,
/// if it can be found. What /proc hides counts as none.
class NeighborMeter {
 public:
  NeighborMeter(const system::StorageFacts& storage, double cores, const system::Probe& probe);
  /// Notes the rate of the disk since the last look; that is cheap enough for the time of a measurement.
  void look();
  Neighbors so_far();

 private:
  /// Of the disk, by all processes.
  struct DiskUse {
    double seconds = 0;  ///< by the clock of /proc/stat
    system::DiskMoment moment;
  };
  struct Counters {
    DiskUse disk;
    double others_cpu_seconds = 0;  ///< on the CPUs that this process may use
    double own_storage_bytes = 0;
  };
  DiskUse disk_use(const std::optional<system::CpuTimes>& cpu) const;
  Counters read() const;
  void note_rate(const DiskUse& now);

  std::string device_;
  std::vector<std::uint64_t> servers_;  ///< processes of a FUSE mount
  bool misses_server_;
  double cores_;
  const system::Probe& probe_;
  std::vector<unsigned> processors_;  ///< that this process may use
  Counters start_;
  DiskUse last_;  ///< at the last look
  double device_most_ = 0;
};

/// A meter of this machine that looks at the disk now and then.
class NeighborWatch {
 public:
  /// For data on `storage`; without a device, only cores are counted.
  explicit NeighborWatch(const system::StorageFacts& storage);
  Neighbors so_far();

 private:
  std::mutex mutex_;
  std::condition_variable_any never_;
  NeighborMeter meter_;
  std::jthread thread_;
};

}  // namespace shardkit::bench
