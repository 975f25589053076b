#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"
#include "system/pcie.hpp"
#include "system/probe.hpp"

namespace shardkit {

/// One NVIDIA GPU on the PCI bus.
struct GpuDevice {
  std::string model;   ///< "NVIDIA H100 80GB HBM3" where the driver tells, else the PCI device number
  std::string driver;  ///< kernel driver bound to it: "nvidia", "vfio-pci"; empty without
  PcieLink pcie;

  void describe(FieldVisitor& v) {
    v.field({"model", Unit::none, "model, or PCI device number where no driver tells"}, model);
    v.field({"driver", Unit::none, "kernel driver that it is bound to"}, driver);
    v.field({"pcie", Unit::none, "its link to the host"}, pcie);
  }
};

/// What can be known of NVIDIA GPUs without talking to a driver.
struct GpuPresence {
  unsigned devices = 0;        ///< device nodes /dev/nvidia0, /dev/nvidia1, ... that this process sees
  std::string driver_version;  ///< empty without a loaded driver
  std::vector<GpuDevice> bus;  ///< those on the PCI bus, in order of their addresses; may be more than `devices`
};

GpuPresence find_gpus(const Probe& probe = live_probe());

}  // namespace shardkit
