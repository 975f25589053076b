#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "system/probe.hpp"

namespace shardkit::system {

/// The PCIe link of a device (Documentation/ABI/testing/sysfs-bus-pci). Speeds in 10^9 transfers per second and lane:
/// 2.5, 5, 8, 16, 32, 64 for generations 1 to 6. Empty members are unknown, as often in virtual machines.
struct PcieLink {
  std::string address;  ///< "0000:17:00.0"; empty if it is not a PCI device
  std::optional<double> speed;
  std::optional<std::uint64_t> width;
  std::optional<double> max_speed;  ///< of the device itself
  std::optional<std::uint64_t> max_width;
  std::optional<double> slot_speed;  ///< the most that the port above it supports
  std::optional<std::uint64_t> slot_width;
  std::optional<std::uint64_t> numa_node;

  /// The most that device and slot support together.
  std::optional<double> best_speed() const {
    return max_speed && slot_speed ? std::min(max_speed, slot_speed) : max_speed;
  }
  std::optional<std::uint64_t> best_width() const {
    return max_width && slot_width ? std::min(max_width, slot_width) : max_width;
  }

  void describe(FieldList& v) {
    v.field({"address", "domain:bus:device.function"}, address);
    v.field({"gigatransfers_per_second", "current speed of a lane"}, speed);
    v.field({"lanes", Unit::count, "current lanes"}, width);
    v.field({"max_gigatransfers_per_second", "speed that the device supports"}, max_speed);
    v.field({"max_lanes", Unit::count, "lanes of the device"}, max_width);
    v.field({"slot_gigatransfers_per_second", "speed that the port above supports"}, slot_speed);
    v.field({"slot_lanes", Unit::count, "lanes of the port above"}, slot_width);
    v.field({"numa_node", Unit::count, "NUMA node of the device"}, numa_node);
  }
};

/// The link of the PCI device at `folder` of /sys, or of the nearest one above it.
PcieLink read_pcie_link(const Probe& probe, const std::string& folder);

/// Generation 1 to 7 of a speed; 0 for any other speed.
unsigned pcie_generation(double speed);

/// The speed of a generation from 1 to 7; empty for others.
std::optional<double> pcie_speed(unsigned generation);

/// Bytes per second of a link in one direction, after line coding: 16 lanes of generation 4: 31.5 GB/s. Empty if speed
/// or lanes are unknown.
std::optional<double> pcie_rate(std::optional<double> speed, std::optional<std::uint64_t> lanes);

/// One NVIDIA GPU on the PCI bus.
struct GpuDevice {
  std::string model;   ///< "NVIDIA H100 80GB HBM3" if the driver is loaded, else the PCI device number
  std::string driver;  ///< kernel driver bound to it: "nvidia", "vfio-pci"; empty without
  PcieLink pcie;

  void describe(FieldList& v) {
    v.field({"model", "model, or PCI device number if no driver reports it"}, model);
    v.field({"driver", "kernel driver in use"}, driver);
    v.field({"pcie", "its link to the host"}, pcie);
  }
};

/// The facts about NVIDIA GPUs that are known without a call of the driver.
struct GpuPresence {
  unsigned devices = 0;        ///< device nodes /dev/nvidia0, /dev/nvidia1, ... that this process sees
  std::string driver_version;  ///< empty without a loaded driver
  std::vector<GpuDevice> bus;  ///< those on the PCI bus, in order of their addresses; may be more than `devices`
};

GpuPresence find_gpus(const Probe& probe = live_probe());

/// A network card, or the virtual one of a machine or container without cards.
struct NetworkCard {
  std::string name;
  std::string driver;                      ///< "mlx5_core", "virtio_net"; empty for virtual ones
  std::string state;                       ///< "up", "down", "unknown"
  std::optional<double> bytes_per_second;  ///< of the link; unknown in most virtual machines
  std::optional<std::uint64_t> mtu;
  std::optional<PcieLink> pcie;

  void describe(FieldList& v) {
    v.field({"name", "interface"}, name);
    v.field({"driver", "kernel driver; empty for virtual cards"}, driver);
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

  void describe(FieldList& v) {
    v.field({"name", "device and port"}, name);
    v.field({"link_layer", "InfiniBand or Ethernet"}, link_layer);
    v.field({"state", "ACTIVE if it works"}, state);
    v.field({"rate", "rate as reported by the driver"}, rate);
    v.field({"bytes_per_second", Unit::bytes_per_second, "rate as a number"}, bytes_per_second);
    v.field({"numa_node", Unit::count, "NUMA node of the port"}, numa_node);
  }
};

std::vector<RdmaPort> read_rdma_ports(const Probe& probe = live_probe());

}  // namespace shardkit::system
