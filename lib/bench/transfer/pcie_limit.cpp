#include "bench/transfer/pcie_limit.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.hpp"
#include "stats/summary.hpp"
#include "system/memory.hpp"

namespace shardkit::bench {
namespace {

constexpr double kPayload = 256;
constexpr double kAroundPayload = 24;

struct Sight {
  system::PcieLink link;
  LinkSource source = LinkSource::none;
  std::optional<double> c2c_rate;
  std::uint64_t slowdowns = 0;
};

Sight look(const system::Probe& probe, const gpu::GpuMonitor* monitor, const std::string& address) {
  Sight sight;
  if (address.empty()) return sight;
  sight.link = system::read_pcie_link(probe, "/sys/bus/pci/devices/" + address);
  if (sight.link.speed && sight.link.width) sight.source = LinkSource::sys;
  const auto state = monitor ? monitor->look_at(address) : std::nullopt;
  if (!state) return sight;
  sight.link = gpu::driver_link(*state, sight.link);
  if (state->pcie_generation && state->pcie_lanes) sight.source = LinkSource::driver;
  sight.c2c_rate = state->c2c_rate;
  sight.slowdowns = state->clock_limits & gpu::clock_limit::kSlowdowns;
  return sight;
}

std::string name_of(std::optional<double> speed, std::optional<std::uint64_t> lanes) {
  if (!speed || !lanes) return {};
  return fmt::format("PCIe {} x{}", system::pcie_generation(*speed), *lanes);
}

std::optional<double> limit_of(std::optional<double> own, std::optional<double> uplink) {
  return own && uplink ? std::min(own, uplink) : own;
}

void derive(TransferDevice& device) {
  if (device.c2c_rate) {
    device.wire_limit = device.max_wire_limit = device.c2c_rate;
    return;
  }
  const auto generation = [](std::optional<double> speed) -> std::optional<std::uint64_t> {
    if (!speed) return std::nullopt;
    return system::pcie_generation(*speed);
  };
  const system::PcieLink& link = device.pcie;
  device.pcie_generation = generation(link.speed);
  device.max_pcie_generation = generation(link.best_speed());
  device.wire_limit = limit_of(system::pcie_rate(link.speed, link.width), link.uplink_rate);
  device.max_wire_limit = limit_of(system::pcie_rate(link.best_speed(), link.best_width()), link.max_uplink_rate);
  if (device.wire_limit) {
    device.payload_limit = payload_rate(*device.wire_limit, static_cast<unsigned>(*device.pcie_generation));
  }
}

}  // namespace

std::optional<double> payload_rate(double wire_rate, unsigned generation) {
  if (generation > 5) return std::nullopt;
  return wire_rate * kPayload / (kPayload + kAroundPayload);
}

TransferDevice look_at_device(const gpu::DeviceFacts& facts, const system::Probe& probe,
                              const gpu::GpuMonitor* monitor) {
  const Sight sight = look(probe, monitor, facts.pci_address);
  TransferDevice device;
  device.device = facts.index;
  device.name = facts.name;
  device.memory = facts.memory;
  device.pcie = sight.link;
  device.link_source = sight.source;
  device.c2c_rate = sight.c2c_rate;
  device.pcie.address = facts.pci_address;
  device.numa_node = facts.numa_node ? facts.numa_node : device.pcie.numa_node;
  if (const auto nodes = system::host_nodes(probe); !device.numa_node && nodes.size() == 1)
    device.numa_node = nodes.front();
  derive(device);
  return device;
}

void look_at_link(const system::Probe& probe, const gpu::GpuMonitor* monitor, TransferDevice& device) {
  const Sight now = look(probe, monitor, device.pcie.address);
  device.slowdowns |= now.slowdowns;
  const auto rate = limit_of(system::pcie_rate(now.link.speed, now.link.width), now.link.uplink_rate);
  if (!rate || *rate <= device.wire_limit.value_or(0)) return;
  device.pcie = now.link;
  device.link_source = now.source;
  derive(device);
}

void warn_of_device(const TransferDevice& device, Context& context) {
  if (device.wire_limit && device.max_wire_limit && *device.wire_limit < *device.max_wire_limit) {
    context.warn("pcie_link_below_max", fmt::format("the link of GPU {} is {}, but device and slot support {}: check "
                                                    "the riser, the wiring of the slot, and link training",
                                                    device.device, link_name(device), max_link_name(device)));
  }
  if (device.slowdowns != 0) {
    context.warn(
        "gpu_slowed_down",
        fmt::format("GPU {} was throttled while copying ({}), so its rates may be too low; `iobench env` shows details",
                    device.device, fmt::join(gpu::clock_limit_names(device.slowdowns), ", ")));
  }
}

std::string link_name(const TransferDevice& device) {
  if (device.c2c_rate) return "NVLink-C2C";
  const std::string name = name_of(device.pcie.speed, device.pcie.width);
  const auto own = system::pcie_rate(device.pcie.speed, device.pcie.width);
  const auto uplink = device.pcie.uplink_rate;
  return own && uplink && *uplink < *own ? fmt::format("{} behind a switch of {}", name, format_rate(*uplink)) : name;
}

std::string max_link_name(const TransferDevice& device) {
  return name_of(device.pcie.best_speed(), device.pcie.best_width());
}

}  // namespace shardkit::bench
