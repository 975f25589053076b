#include "bench/transfer/pcie_limit.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "system/numa_binding.hpp"

namespace shardkit {
namespace {

constexpr double kPayload = 256;
constexpr double kAroundPayload = 24;

struct Sight {
  PcieLink link;
  LinkSource source = LinkSource::none;
  std::vector<std::string> slowdowns;
};

Sight look(const Probe& probe, const GpuMonitor* monitor, const std::string& address) {
  Sight sight;
  if (address.empty()) return sight;
  sight.link = read_pcie_link(probe, "/sys/bus/pci/devices/" + address);
  if (sight.link.speed && sight.link.width) sight.source = LinkSource::sys;
  const auto state = monitor ? monitor->look_at(address) : std::nullopt;
  if (!state) return sight;
  sight.link = driver_link(*state, sight.link);
  if (state->pcie_generation && state->pcie_lanes) sight.source = LinkSource::driver;
  sight.slowdowns = slowdowns(state->clock_limits);
  return sight;
}

void add_slowdowns(const Sight& sight, TransferDevice& device) {
  for (const std::string& name : sight.slowdowns) {
    if (std::ranges::find(device.slowdowns, name) == device.slowdowns.end()) device.slowdowns.push_back(name);
  }
}

std::optional<double> rate_of(std::optional<double> speed, std::optional<std::uint64_t> lanes) {
  if (!speed || !lanes) return std::nullopt;
  return pcie_rate(*speed, *lanes);
}

/// The smaller of what the device and the slot can do.
template <class T>
std::optional<T> both_can(const std::optional<T>& device, const std::optional<T>& slot) {
  if (!device || !slot) return device;
  return std::min(*device, *slot);
}

std::string name_of(std::optional<double> speed, std::optional<std::uint64_t> lanes) {
  if (!speed || !lanes) return {};
  return fmt::format("PCIe {} x{}", pcie_generation(*speed), *lanes);
}

void derive(TransferDevice& device) {
  const auto generation = [](std::optional<double> speed) -> std::optional<std::uint64_t> {
    if (!speed) return std::nullopt;
    return pcie_generation(*speed);
  };
  const PcieLink& link = device.pcie;
  const auto max_speed = both_can(link.max_speed, link.slot_speed);
  device.pcie_generation = generation(link.speed);
  device.max_pcie_generation = generation(max_speed);
  device.wire_limit = rate_of(link.speed, link.width);
  device.max_wire_limit = rate_of(max_speed, both_can(link.max_width, link.slot_width));
  if (device.wire_limit) {
    device.payload_limit = payload_rate(*device.wire_limit, static_cast<unsigned>(*device.pcie_generation));
  }
}

}  // namespace

std::optional<double> payload_rate(double wire_rate, unsigned generation) {
  if (generation > 5) return std::nullopt;
  return wire_rate * kPayload / (kPayload + kAroundPayload);
}

TransferDevice look_at_device(const DeviceFacts& facts, const Probe& probe, const GpuMonitor* monitor) {
  const Sight sight = look(probe, monitor, facts.pci_address);
  TransferDevice device;
  device.device = facts.index;
  device.name = facts.name;
  device.memory = facts.memory;
  device.pcie = sight.link;
  device.link_source = sight.source;
  device.pcie.address = facts.pci_address;
  device.numa_node = facts.numa_node ? facts.numa_node : device.pcie.numa_node;
  if (const auto nodes = host_nodes(probe); !device.numa_node && nodes.size() == 1) device.numa_node = nodes.front();
  derive(device);
  return device;
}

void look_at_link(const Probe& probe, const GpuMonitor* monitor, TransferDevice& device) {
  const Sight now = look(probe, monitor, device.pcie.address);
  add_slowdowns(now, device);
  const auto rate = rate_of(now.link.speed, now.link.width);
  if (!rate || *rate <= device.wire_limit.value_or(0)) return;
  device.pcie = now.link;
  device.link_source = now.source;
  derive(device);
}

void warn_of_device(const TransferDevice& device, Context& context) {
  if (device.wire_limit && device.max_wire_limit && *device.wire_limit < *device.max_wire_limit) {
    context.warn("pcie_link_below_max",
                 fmt::format("GPU {} has a link of {} where device and slot can do {}: a riser, a slot that is wired "
                             "for less, or a fault in training the link",
                             device.device, link_name(device), max_link_name(device)));
  }
  if (!device.slowdowns.empty()) {
    context.warn("gpu_slowed_down",
                 fmt::format("GPU {} was slowed down while it copied ({}): its rates may be higher when it is well; "
                             "`iobench env` says more",
                             device.device, fmt::join(device.slowdowns, ", ")));
  }
}

std::string link_name(const TransferDevice& device) { return name_of(device.pcie.speed, device.pcie.width); }

std::string max_link_name(const TransferDevice& device) {
  return name_of(both_can(device.pcie.max_speed, device.pcie.slot_speed),
                 both_can(device.pcie.max_width, device.pcie.slot_width));
}

}  // namespace shardkit
