#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "system/pcie.hpp"

/// Current state of GPUs from the driver's management library (NVML). It needs no CUDA, starts nothing on a GPU, and
/// includes GPUs that CUDA_VISIBLE_DEVICES hides. Tests use a fake (tests/support/fake_gpu_monitor.hpp).
namespace shardkit::gpu {

/// Why a GPU answers nothing or not everything.
enum class GpuFault {
  lost,            ///< it has fallen off the bus
  reset_required,  ///< it works again only after a reset
  unreachable      ///< the driver has another reason
};
constexpr auto enum_names(GpuFault) {
  return std::to_array<std::string_view>({"lost", "reset-required", "unreachable"});
}

/// Reasons for lower clocks: bits of nvmlClocksEventReasons (nvml.h).
namespace clock_limit {
inline constexpr std::uint64_t kIdle = 0x1;
inline constexpr std::uint64_t kPowerCap = 0x4;
inline constexpr std::uint64_t kHardware = 0x8;  ///< by heat, lack of power, or both
inline constexpr std::uint64_t kDriverHeat = 0x20;
inline constexpr std::uint64_t kHardwareHeat = 0x40;
inline constexpr std::uint64_t kPowerBrake = 0x80;
/// Those that are a problem. A healthy GPU has others too when it is idle or at its configured power limit.
inline constexpr std::uint64_t kSlowdowns = kHardware | kDriverHeat | kHardwareHeat | kPowerBrake;
}  // namespace clock_limit

/// One GPU. Values that the GPU or its driver do not report are empty, never 0.
struct GpuState {
  std::uint64_t index = 0;        ///< as counted by nvidia-smi
  std::optional<GpuFault> fault;  ///< then only the index is sure to be known
  std::string name;
  std::string pci_address;                           ///< "0000:17:00.0", as in /sys
  std::optional<std::uint64_t> numa_node;            ///< nearest node of the host
  std::optional<std::uint64_t> memory;               ///< bytes
  std::optional<std::uint64_t> memory_used;          ///< bytes, including the driver's own
  std::optional<std::uint64_t> pcie_generation;      ///< current link
  std::optional<std::uint64_t> pcie_lanes;           ///< current link
  std::optional<std::uint64_t> max_pcie_generation;  ///< supported by GPU and slot together
  std::optional<std::uint64_t> max_pcie_lanes;       ///< of both GPU and slot
  std::optional<std::uint64_t> gpu_pcie_generation;  ///< supported by the GPU in another slot
  std::optional<double> c2c_rate;                    ///< NVLink-C2C to the CPU in one direction, bytes per second
  std::optional<std::uint64_t> sm_clock;             ///< hertz
  std::optional<std::uint64_t> max_sm_clock;         ///< hertz
  std::optional<std::uint64_t> memory_clock;         ///< hertz
  std::optional<std::uint64_t> max_memory_clock;     ///< hertz
  std::uint64_t clock_limits = 0;                    ///< reasons for lower clocks, of clock_limit
  std::optional<std::uint64_t> performance_state;    ///< 0 is the fastest
  std::optional<double> temperature;                 ///< degrees Celsius
  std::optional<double> power;                       ///< watts
  std::optional<double> power_limit;                 ///< power limit in watts
  std::optional<double> default_power_limit;         ///< default power limit in watts
  // From the last sample period, a second or less: the share of time with any work of the kind.
  std::optional<double> gpu_busy;
  std::optional<double> memory_busy;
  std::optional<double> decoder_busy;      ///< of video
  std::optional<double> jpeg_busy;         ///< of its JPEG engines
  std::optional<std::string> mig;          ///< "on" if it is divided into instances, "off"
  std::optional<std::string> persistence;  ///< "on" if the driver stays loaded when the GPU is unused, "off"

  void describe(FieldList& v);
};

/// Thread-safe.
class GpuMonitor {
 public:
  virtual ~GpuMonitor() = default;
  virtual const std::string& driver_version() const = 0;
  /// All GPUs that this process may see, in order of their index, also lost ones; takes some milliseconds for each.
  virtual std::vector<GpuState> look() const = 0;
  /// The one with this PCI address; empty if there is none.
  virtual std::optional<GpuState> look_at(const std::string& pci_address) const = 0;
  /// Bytes per second that the GPU receives over its PCIe link, counted for the 20 ms of this call. Empty for a GPU
  /// without such counters, such as a virtual one.
  virtual std::optional<double> pcie_intake(const std::string& pci_address) const = 0;
};

/// Throws Error{unsupported} with one line that names what is missing: NVML in this build, its library, a driver.
std::unique_ptr<GpuMonitor> open_gpu_monitor();
/// The same for callers for which it is optional: a monitor, or that line.
struct GpuMonitorSearch {
  std::unique_ptr<GpuMonitor> monitor;
  std::optional<std::string> missing;
};
GpuMonitorSearch find_gpu_monitor();

/// One sample of all GPUs, or why there is none.
struct GpuSight {
  std::optional<std::string> missing;  ///< a line
  std::string driver_version;
  std::vector<GpuState> gpus;

  /// The GPU with this PCI address; null when there is none.
  const GpuState* find(const std::string& pci_address) const;
  void describe(FieldList& v);
};
GpuSight look_at_gpus();

/// Reasons for lower clocks, by NVML's names: "sw_power_cap", ...
std::vector<std::string> clock_limit_names(std::uint64_t reasons);

/// The PCIe link from the driver if it reports it, else from /sys: in a virtual machine /sys shows a virtual slot, or
/// none.
system::PcieLink driver_link(const GpuState& state, system::PcieLink sys);

}  // namespace shardkit::gpu
