#pragma once

#include "bench/transfer/transfer.hpp"

namespace shardkit {

/// Bytes per second that are left for data on a link that carries `wire_rate`: in packets of 256 bytes, the payload
/// that root ports of servers agree on, each with 24 bytes around it (framing 4, header 16 with 64-bit addresses, check
/// sum 4; PCI Express Base Specification 5.0, 2.2 and 4.2). Empty above generation 5, which packs them otherwise.
std::optional<double> payload_rate(double wire_rate, unsigned generation);

/// The GPU's facts and its node, without a link where /sys knows none.
TransferDevice look_at_device(const DeviceFacts& facts, const Probe& probe);

/// Reads the link again and keeps the fastest state seen. For right after copies.
void look_at_link(const Probe& probe, TransferDevice& device);

/// "PCIe 5 x16"; empty when the link is unknown.
std::string link_name(const TransferDevice& device);
/// The same of what device and slot can do.
std::string max_link_name(const TransferDevice& device);

}  // namespace shardkit
