#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "system/pcie.hpp"
#include "system/probe.hpp"

namespace shardkit::system {

/// A network card, or the virtual one of a machine or container without cards.
struct NetworkCard {
  std::string name;
  std::string driver;                      ///< "mlx5_core", "virtio_net"; empty for virtual ones
  std::string state;                       ///< "up", "down", "unknown"
  std::optional<double> bytes_per_second;  ///< of the link; unknown in most virtual machines
  std::optional<std::uint64_t> mtu;
  std::optional<PcieLink> pcie;

  void describe(FieldVisitor& v) {
    v.field({"name", "interface"}, name);
    v.field({"driver", "kernel driver; empty for virtual ones"}, driver);
    v.field({"state", "up or down"}, state);
    v.field({"bytes_per_second", Unit::bytes_per_second, "speed of its link"}, bytes_per_second);
    v.field({"mtu", Unit::count, "largest packet, in bytes"}, mtu);
    v.field({"pcie", "its link to the host"}, pcie);
  }
};

/// Cards and bonds; without any of them the virtual interfaces that are up. Never the loopback.
std::vector<NetworkCard> read_network_cards(const Probe& probe = live_probe());

/// A port of an RDMA device (/sys/class/infiniband).
struct RdmaPort {
  std::string name;        ///< "mlx5_0/1"
  std::string link_layer;  ///< "InfiniBand" or "Ethernet"
  std::string state;       ///< "ACTIVE", "DOWN", ...
  std::string rate;        ///< "400 Gb/sec (4X NDR)"
  std::optional<double> bytes_per_second;
  std::optional<std::uint64_t> numa_node;

  void describe(FieldVisitor& v) {
    v.field({"name", "device and port"}, name);
    v.field({"link_layer", "InfiniBand or Ethernet"}, link_layer);
    v.field({"state", "ACTIVE when it works"}, state);
    v.field({"rate", "as the driver says it"}, rate);
    v.field({"bytes_per_second", Unit::bytes_per_second, "the same as a number"}, bytes_per_second);
    v.field({"numa_node", Unit::count, "NUMA node that it hangs on"}, numa_node);
  }
};

std::vector<RdmaPort> read_rdma_ports(const Probe& probe = live_probe());

}  // namespace shardkit::system
