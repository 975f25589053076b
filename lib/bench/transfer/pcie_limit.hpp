#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "gpu/device.hpp"
#include "gpu/gpu_monitor.hpp"
#include "system/pcie.hpp"
#include "system/probe.hpp"

/// GPUs and the links that limit copies to them.
namespace shardkit::bench {

/// Source of the link data.
enum class LinkSource { none, sys, driver };
constexpr auto enum_names(LinkSource) { return std::to_array<std::string_view>({"none", "sys", "driver"}); }

/// A GPU and its link right after copies, because an idle link is often slowed down to save power.
struct TransferDevice {
  std::uint64_t device = 0;
  std::string name;
  std::uint64_t memory = 0;
  std::optional<std::uint64_t> numa_node;
  system::PcieLink pcie;
  std::optional<std::uint64_t> pcie_generation;
  std::optional<std::uint64_t> max_pcie_generation;
  std::optional<double> wire_limit;     ///< bytes per second after line coding, of the slowest link up to the root port
  std::optional<double> payload_limit;  ///< the same without packet headers
  std::optional<double> max_wire_limit;  ///< of what device, slot and switches can do
  std::optional<double> c2c_rate;        ///< NVLink-C2C, which copies use instead of PCIe: then it is both limits
  LinkSource link_source = LinkSource::none;
  std::uint64_t slowdowns = 0;  ///< gpu::clock_limit::kSlowdowns, right after copies

  void describe(FieldList& v);
};

/// Bytes per second left for data on a link of `wire_rate`: in packets of 256 bytes, the usual payload of servers' root
/// ports, each with 24 bytes of overhead (framing 4, header 16 with 64-bit addresses, checksum 4; PCI Express Base
/// Specification 5.0, 2.2 and 4.2). Empty above generation 5, which uses other packets.
std::optional<double> payload_rate(double wire_rate, unsigned generation);

/// The GPU's facts, its node and its link: from the driver if `monitor` is given and reports it, else from /sys;
/// without a link if neither knows.
TransferDevice look_at_device(const gpu::DeviceFacts& facts, const system::Probe& probe,
                              const gpu::GpuMonitor* monitor = nullptr);

/// Reads the link again: keeps its fastest state, and the reasons for throttling. Call right after copies.
void look_at_link(const system::Probe& probe, const gpu::GpuMonitor* monitor, TransferDevice& device);

/// Warns of a link below what device and slot support, and of a throttled GPU. Call when everything is measured.
void warn_of_device(const TransferDevice& device, Context& context);

/// "PCIe 5 x16", "PCIe 5 x16 behind a switch of 31.5 GB/s", "NVLink-C2C"; empty if the link is unknown.
std::string link_name(const TransferDevice& device);
/// The same for the maximum of device and slot.
std::string max_link_name(const TransferDevice& device);

}  // namespace shardkit::bench
