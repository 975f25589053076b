#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "system/probe.hpp"

namespace shardkit::system {

/// Memory of the machine and the kernel settings for it (proc_meminfo(5), Documentation/admin-guide/sysctl/vm).
struct MemoryFacts {
  std::uint64_t total = 0;  ///< 0 if /proc is not available
  std::uint64_t available = 0;
  std::uint64_t swap_total = 0;
  std::uint64_t swap_free = 0;
  std::uint64_t huge_pages = 0;  ///< bytes set aside for them
  std::uint64_t huge_pages_free = 0;
  std::string transparent_huge_pages;  ///< "always", "madvise", "never"
  std::string huge_page_defrag;
  std::optional<std::uint64_t> swappiness;
  std::optional<std::uint64_t> zone_reclaim_mode;
  std::optional<std::uint64_t> dirty_ratio;  ///< percent of available memory
  std::optional<std::uint64_t> dirty_background_ratio;
  std::optional<std::uint64_t> dirty_bytes;  ///< replaces the percentage if above 0
  std::optional<std::uint64_t> dirty_background_bytes;

  void describe(FieldList& v) {
    v.field({"total", Unit::bytes, "memory of the machine"}, total);
    v.field({"available", Unit::bytes, "memory available to programs without swapping"}, available);
    v.field({"swap_total", Unit::bytes, "swap space"}, swap_total);
    v.field({"swap_free", Unit::bytes, "swap space not in use"}, swap_free);
    v.field({"huge_pages", Unit::bytes, "memory set aside for huge pages"}, huge_pages);
    v.field({"huge_pages_free", Unit::bytes, "part of it that is not used"}, huge_pages_free);
    v.field({"transparent_huge_pages", "which programs get huge pages without asking"}, transparent_huge_pages);
    v.field({"huge_page_defrag", "when the kernel compacts memory for them"}, huge_page_defrag);
    v.field({"swappiness", Unit::count, "vm.swappiness"}, swappiness);
    v.field({"zone_reclaim_mode", Unit::count, "vm.zone_reclaim_mode"}, zone_reclaim_mode);
    v.field({"dirty_ratio", "vm.dirty_ratio, in percent"}, dirty_ratio);
    v.field({"dirty_background_ratio", "vm.dirty_background_ratio, in percent"}, dirty_background_ratio);
    v.field({"dirty", Unit::bytes, "vm.dirty_bytes, if set"}, dirty_bytes);
    v.field({"dirty_background", Unit::bytes, "vm.dirty_background_bytes, if set"}, dirty_background_bytes);
  }
};

MemoryFacts read_memory(const Probe& probe = live_probe());

/// The use of memory at a moment (/proc/meminfo), and the kernel's work for it so far (/proc/vmstat).
struct MemoryUse {
  std::uint64_t total = 0;
  std::uint64_t available = 0;
  std::uint64_t page_cache = 0;                ///< contents of files, including tmpfs, and buffers
  std::optional<std::uint64_t> major_faults;   ///< that needed storage
  std::optional<std::uint64_t> swapped_pages;  ///< in and out
};

/// Empty if /proc is not available.
std::optional<MemoryUse> read_memory_use(const Probe& probe);

/// A NUMA node.
struct NumaNode {
  std::uint64_t node = 0;
  std::string cpus;  ///< "0-47,96-143"
  std::uint64_t memory = 0;
  std::uint64_t free = 0;

  void describe(FieldList& v) {
    v.field({"node", Unit::count, "number of the node"}, node);
    v.field({"cpus", "processors of the node"}, cpus);
    v.field({"memory", Unit::bytes, "memory of the node"}, memory);
    v.field({"free", Unit::bytes, "free memory of the node"}, free);
  }
};

/// In order of their numbers; empty if /sys does not list them.
std::vector<NumaNode> read_numa_nodes(const Probe& probe = live_probe());

/// Pressure stall information (Documentation/accounting/psi.rst): how long tasks have waited for a resource so far. The
/// counters are the kernel's `total=`; its averages over 10 s and more are not used.
struct Pressure {
  double some_seconds = 0;  ///< in which at least one task waited
  double full_seconds = 0;  ///< in which all tasks with work waited
};

/// Of the machine or of a control group. Empty if the kernel has none (before 4.20, or not enabled: `psi=1` on the
/// kernel's command line); a missing line `full`, as of cpu before 5.13, is 0.
struct Pressures {
  std::optional<Pressure> cpu;
  std::optional<Pressure> io;
  std::optional<Pressure> memory;
};

/// Of the files "/proc/pressure/io", or "<folder of a control group>/io.pressure", ...: the text before and after their
/// resource.
Pressures read_pressures(const Probe& probe, const std::string& before, const std::string& behind = "");

/// The host's NUMA nodes that have both CPUs and memory, in order; empty if /sys does not list them. A GPU whose memory
/// the host sees is a node without CPUs, and is not included.
std::vector<std::uint64_t> host_nodes(const Probe& probe = live_probe());

/// The node farthest from `node`, by the distances of the firmware; empty if there is no other.
std::optional<std::uint64_t> farthest_node(std::uint64_t node, const Probe& probe = live_probe());

/// The NUMA node of a thread's memory and CPUs. By system call: no libnuma.
///
/// During its lifetime the calling thread, and threads that it starts, run on the CPUs of a node, and new pages come
/// from it. Destroyed by the thread that made it.
class NumaBinding {
 public:
  /// Throws Error{unsupported} with the reason, for example if this process may use no CPU of the node.
  explicit NumaBinding(std::uint64_t node, const Probe& probe = live_probe());
  ~NumaBinding();
  NumaBinding(const NumaBinding&) = delete;
  NumaBinding& operator=(const NumaBinding&) = delete;

  /// False if set_mempolicy(2) is refused, as containers' seccomp filters do: then pages come from the node where the
  /// thread runs while it has free ones, without a guarantee.
  bool binds_memory() const { return binds_memory_; }

 private:
  using Mask = std::vector<unsigned long>;

  Mask old_cpus_;
  Mask old_nodes_;
  int old_policy_ = 0;
  bool binds_memory_ = false;
};

}  // namespace shardkit::system
