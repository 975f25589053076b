#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "system/probe.hpp"

/// Where a thread's memory comes from and where it runs. By system call: no libnuma.
namespace shardkit::system {

/// The host's NUMA nodes that have both processors and memory, in order; empty where /sys does not tell. A GPU whose
/// memory the host sees is a node without processors, and none of these.
std::vector<std::uint64_t> host_nodes(const Probe& probe = live_probe());

/// The node farthest from `node`, by the distances that the firmware tells; empty when there is no other.
std::optional<std::uint64_t> farthest_node(std::uint64_t node, const Probe& probe = live_probe());

/// As long as it lives the calling thread, and threads that it starts, run on the processors of a node, and new pages
/// come from it. Destroyed by the thread that made it.
class NumaBinding {
 public:
  /// Throws Error{unsupported} that says why not, as where no processor of the node is left to this process.
  explicit NumaBinding(std::uint64_t node, const Probe& probe = live_probe());
  ~NumaBinding();
  NumaBinding(const NumaBinding&) = delete;
  NumaBinding& operator=(const NumaBinding&) = delete;

  /// False where set_mempolicy(2) is refused, as containers' seccomp filters do: then pages come from the node where
  /// the thread runs for as long as it has free ones, without a promise.
  bool binds_memory() const { return binds_memory_; }

 private:
  using Mask = std::vector<unsigned long>;

  Mask old_cpus_;
  Mask old_nodes_;
  int old_policy_ = 0;
  bool binds_memory_ = false;
};

}  // namespace shardkit::system
