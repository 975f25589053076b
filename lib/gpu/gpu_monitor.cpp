#include "gpu/gpu_monitor.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit::gpu {
namespace {

/// NVML's names of the bits of clock_limit, from the lowest on.
constexpr std::array<std::string_view, 11> kClockLimits{"gpu_idle",
                                                        "applications_clocks_setting",
                                                        "sw_power_cap",
                                                        "hw_slowdown",
                                                        "sync_boost",
                                                        "sw_thermal_slowdown",
                                                        "hw_thermal_slowdown",
                                                        "hw_power_brake_slowdown",
                                                        "display_clock_setting",
                                                        "board_limit",
                                                        "reliability"};

void take(const std::optional<std::uint64_t>& generation, std::optional<double>& speed) {
  if (!generation) return;
  if (const auto known = system::pcie_speed(static_cast<unsigned>(*generation))) speed = known;
}

}  // namespace

std::vector<std::string> clock_limit_names(std::uint64_t reasons) {
  std::vector<std::string> names;
  for (std::size_t bit = 0; bit < 64; ++bit) {
    if ((reasons >> bit & 1U) == 0) continue;
    names.push_back(bit < kClockLimits.size() ? std::string(kClockLimits[bit]) : fmt::format("reason_{}", bit));
  }
  return names;
}

system::PcieLink driver_link(const GpuState& state, system::PcieLink sys) {
  if (sys.address.empty()) sys.address = state.pci_address;
  if (!sys.numa_node) sys.numa_node = state.numa_node;
  if (!state.pcie_generation || !state.pcie_lanes) return sys;
  take(state.pcie_generation, sys.speed);
  sys.width = state.pcie_lanes;
  // The slot supports what both support: NVML does not report lanes that only the GPU has.
  take(state.max_pcie_generation, sys.slot_speed);
  take(state.gpu_pcie_generation ? state.gpu_pcie_generation : state.max_pcie_generation, sys.max_speed);
  if (state.max_pcie_lanes) {
    sys.slot_width = state.max_pcie_lanes;
    sys.max_width = std::max(sys.max_width.value_or(0), *state.max_pcie_lanes);
  }
  return sys;
}

const GpuState* GpuSight::find(const std::string& pci_address) const {
  const auto found = std::ranges::find(gpus, pci_address, &GpuState::pci_address);
  return found == gpus.end() ? nullptr : &*found;
}

GpuMonitorSearch find_gpu_monitor() {
  try {
    return {open_gpu_monitor(), std::nullopt};
  } catch (const Error& error) {
    return {nullptr, error.what()};
  }
}

GpuSight look_at_gpus() {
  const auto [monitor, missing] = find_gpu_monitor();
  if (!monitor) return {missing, {}, {}};
  return {missing, monitor->driver_version(), monitor->look()};
}

void GpuState::describe(FieldList& v) {
  v.field({"index", Unit::count, "number, as counted by nvidia-smi"}, index);
  v.field({"fault",
           "why the GPU does not answer: lost (fallen off the bus), reset-required, unreachable; null if it answers"},
          fault);
  v.field({"name", "model"}, name);
  v.field({"pci_address", "domain:bus:device.function"}, pci_address);
  v.field({"numa_node", Unit::count, "nearest NUMA node of the host"}, numa_node);
  v.field({"memory", Unit::bytes, "memory of the GPU"}, memory);
  v.field({"memory_used", Unit::bytes, "memory in use, including that of the driver"}, memory_used);
  v.field({"pcie_generation", Unit::count, "current PCIe generation; lower if the GPU is idle"}, pcie_generation);
  v.field({"pcie_lanes", Unit::count, "current PCIe lanes"}, pcie_lanes);
  v.field({"max_pcie_generation", Unit::count, "PCIe generation that GPU and slot support"}, max_pcie_generation);
  v.field({"max_pcie_lanes", Unit::count, "PCIe lanes that GPU and slot support"}, max_pcie_lanes);
  v.field({"gpu_pcie_generation", Unit::count, "PCIe generation that the GPU would support in another slot"},
          gpu_pcie_generation);
  v.field({"c2c", Unit::bytes_per_second,
           "rate of NVLink-C2C to the CPU in one direction, which copies use instead of PCIe"},
          c2c_rate);
  v.field({"sm_clock_hertz", "current clock of the processors"}, sm_clock);
  v.field({"max_sm_clock_hertz", "highest clock of the processors"}, max_sm_clock);
  v.field({"memory_clock_hertz", "current clock of the memory"}, memory_clock);
  v.field({"max_memory_clock_hertz", "highest clock of the memory"}, max_memory_clock);
  std::vector<std::string> limits = clock_limit_names(clock_limits);
  v.field({"clock_limits", "reasons for lower clocks, as named by NVML"}, limits);
  v.field({"performance_state", Unit::count, "0 is the fastest, 15 the slowest"}, performance_state);
  v.field({"temperature_celsius", "temperature of the GPU"}, temperature);
  v.field({"power_watts", "current power"}, power);
  v.field({"power_limit_watts", "power limit"}, power_limit);
  v.field({"default_power_limit_watts", "default power limit"}, default_power_limit);
  v.field({"gpu_busy", Unit::ratio, "share of the last second or less in which a kernel ran"}, gpu_busy);
  v.field({"memory_busy", Unit::ratio, "share in which its memory was read or written"}, memory_busy);
  v.field({"decoder_busy", Unit::ratio, "share in which video was decoded"}, decoder_busy);
  v.field({"jpeg_busy", Unit::ratio, "share in which its JPEG engines decoded"}, jpeg_busy);
  v.field({"mig", "on: divided into instances; off"}, mig);
  v.field({"persistence", "on: the driver stays loaded when the GPU is unused; off"}, persistence);
}

void GpuSight::describe(FieldList& v) {
  v.field({"missing", "why GPU metrics are not available; null if they are"}, missing);
  v.field({"driver_version", "version of the driver"}, driver_version);
  v.field({"gpus", "GPUs that this process may see"}, gpus);
}

}  // namespace shardkit::gpu
