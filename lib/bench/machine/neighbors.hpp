#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "system/probe.hpp"
#include "system/storage.hpp"

/// What other processes of this machine used while something was measured.
namespace shardkit::bench {

/// Means over a measurement. Kernel threads and interrupts do not count, because they may work for the measurement; the
/// time that a hypervisor gave to other machines does.
struct Neighbors {
  std::optional<double> cores_used;  ///< of those that this process may use; empty: unknown
  double cores = 0;                  ///< that this process may use
  double device_bytes_per_second = 0;
  double device_ratio = 0;  ///< their share of the bytes that the data's disk read and wrote

  /// True if rates are lower than those of an idle machine: above 10 % of the cores, or 5 % of the disk's bytes.
  bool disturb() const { return cores_used.value_or(0) > 0.1 * cores || device_ratio > 0.05; }
  /// "others used 1.3 of 2 cores and 40.0 MB/s of the disk", of what disturbs; empty if nothing does.
  std::string text() const;
  void describe(FieldVisitor& v);
};

/// Measures from its construction on, for data on `storage` and this process with `cores`. Bytes of others count only
/// if this process reads from the disk, too. Cores are unknown for FUSE, whose file system is a process of its own.
/// What /proc hides counts as none.
class NeighborMeter {
 public:
  NeighborMeter(const system::StorageFacts& storage, double cores, const system::Probe& probe);
  Neighbors so_far() const;

 private:
  struct Counters {
    double seconds = 0;
    double others_cpu_seconds = 0;  ///< on the CPUs that this process may use
    double own_storage_bytes = 0;
    double device_bytes = 0;
  };
  Counters read() const;

  std::string device_;
  bool counts_cores_;
  double cores_;
  const system::Probe& probe_;
  std::vector<unsigned> processors_;  ///< that this process may use
  Counters start_;
};

}  // namespace shardkit::bench
