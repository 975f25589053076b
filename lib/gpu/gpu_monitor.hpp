#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "system/pcie.hpp"

/// What GPUs say of themselves at a moment, by the management library of their driver (NVML). It needs no CUDA, starts
/// nothing on a GPU, and knows GPUs that CUDA_VISIBLE_DEVICES hides. In tests a fake stands behind it
/// (tests/support/fake_gpu_monitor.hpp).
namespace shardkit::gpu {

/// One GPU. Members that the GPU or its driver do not tell are empty, never 0.
struct GpuState {
  std::uint64_t index = 0;  ///< as nvidia-smi counts
  std::string name;
  std::string pci_address;                           ///< "0000:17:00.0", as /sys writes it
  std::optional<std::uint64_t> numa_node;            ///< of the host, nearest to it
  std::optional<std::uint64_t> memory;               ///< bytes
  std::optional<std::uint64_t> memory_used;          ///< bytes, the driver's own among them
  std::optional<std::uint64_t> pcie_generation;      ///< of its link now
  std::optional<std::uint64_t> pcie_lanes;           ///< of its link now
  std::optional<std::uint64_t> max_pcie_generation;  ///< that GPU and slot can do together
  std::optional<std::uint64_t> max_pcie_lanes;       ///< that GPU and slot have both
  std::optional<std::uint64_t> gpu_pcie_generation;  ///< that the GPU could do in another slot
  std::optional<std::uint64_t> sm_clock;             ///< hertz
  std::optional<std::uint64_t> max_sm_clock;         ///< hertz
  std::optional<std::uint64_t> memory_clock;         ///< hertz
  std::optional<std::uint64_t> max_memory_clock;     ///< hertz
  std::vector<std::string> clock_limits;             ///< by clock_limit_names(); empty when nothing limits the clocks
  std::optional<std::uint64_t> performance_state;    ///< 0 is the fastest
  std::optional<double> temperature;                 ///< degrees Celsius
  std::optional<double> power;                       ///< watts
  std::optional<double> power_limit;                 ///< watts that it may take
  std::optional<double> default_power_limit;         ///< watts that it may take unless somebody says otherwise
  // Of the last sample period, a second or less: the share of time in which there was any work of the kind.
  std::optional<double> gpu_busy;
  std::optional<double> memory_busy;
  std::optional<double> decoder_busy;      ///< of video
  std::optional<double> jpeg_busy;         ///< of its JPEG engines
  std::optional<std::string> mig;          ///< "on" where it is divided into instances, "off"
  std::optional<std::string> persistence;  ///< "on" where the driver stays loaded when nobody uses it, "off"

  void describe(FieldVisitor& v);
};

/// Thread-safe.
class GpuMonitor {
 public:
  virtual ~GpuMonitor() = default;
  virtual const std::string& driver_version() const = 0;
  /// Every GPU that this process may see, as it is now, in order of its index; takes some milliseconds for each.
  virtual std::vector<GpuState> look() const = 0;
  /// The one with this PCI address; empty when there is none.
  virtual std::optional<GpuState> look_at(const std::string& pci_address) const = 0;
  /// Bytes per second that the GPU takes in over its PCIe link, counted for the 20 ms that this takes. Empty for a GPU
  /// that does not count them, as virtual ones do.
  virtual std::optional<double> pcie_intake(const std::string& pci_address) const = 0;
};

/// Throws Error{unsupported} whose one line says what is missing: NVML in this build, its library, a driver.
std::unique_ptr<GpuMonitor> open_gpu_monitor();
/// The same for who can do without: a monitor, or the line that says what is missing.
struct GpuMonitorSearch {
  std::unique_ptr<GpuMonitor> monitor;
  std::optional<std::string> missing;
};
GpuMonitorSearch find_gpu_monitor();

/// One look at all GPUs, or why there is none.
struct GpuSight {
  std::optional<std::string> missing;  ///< a line
  std::string driver_version;
  std::vector<GpuState> gpus;

  /// The GPU with this PCI address; null when there is none.
  const GpuState* find(const std::string& pci_address) const;
  void describe(FieldVisitor& v);
};
GpuSight look_at_gpus();

/// Why clocks are lower than they could be, by NVML's names: "sw_power_cap", ... for bits of nvmlClocksEventReasons.
std::vector<std::string> clock_limit_names(std::uint64_t reasons);

/// Of these limits those that a machine has when something is wrong with it: heat and lack of power. At rest, or at the
/// power that its owner allows, a GPU that is well has limits too.
std::vector<std::string> slowdowns(const std::vector<std::string>& clock_limits);

/// The link as the driver sees it, where it tells, else as /sys has it: in a virtual machine /sys knows a slot of the
/// hypervisor's making, or none.
system::PcieLink driver_link(const GpuState& state, system::PcieLink sys);

}  // namespace shardkit::gpu
