#include "bench/transfer/pcie_limit.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "system/numa_binding.hpp"

namespace shardkit {
namespace {

constexpr double kPayload = 256;
constexpr double kAroundPayload = 24;

PcieLink read_link(const Probe& probe, const std::string& address) {
  return address.empty() ? PcieLink{} : read_pcie_link(probe, "/sys/bus/pci/devices/" + address);
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

TransferDevice look_at_device(const DeviceFacts& facts, const Probe& probe) {
  TransferDevice device;
  device.device = facts.index;
  device.name = facts.name;
  device.memory = facts.memory;
  device.pcie = read_link(probe, facts.pci_address);
  device.pcie.address = facts.pci_address;
  device.numa_node = facts.numa_node ? facts.numa_node : device.pcie.numa_node;
  if (const auto nodes = host_nodes(probe); !device.numa_node && nodes.size() == 1) device.numa_node = nodes.front();
  derive(device);
  return device;
}

void look_at_link(const Probe& probe, TransferDevice& device) {
  const PcieLink now = read_link(probe, device.pcie.address);
  const auto rate = rate_of(now.speed, now.width);
  if (!rate || *rate <= device.wire_limit.value_or(0)) return;
  device.pcie = now;
  derive(device);
}

std::string link_name(const TransferDevice& device) { return name_of(device.pcie.speed, device.pcie.width); }

std::string max_link_name(const TransferDevice& device) {
  return name_of(both_can(device.pcie.max_speed, device.pcie.slot_speed),
                 both_can(device.pcie.max_width, device.pcie.slot_width));
}

}  // namespace shardkit
