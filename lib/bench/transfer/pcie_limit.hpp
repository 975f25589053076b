#pragma once

#include <cstddef>
#include <string>

#include "bench/transfer/transfer.hpp"

namespace shardkit::bench {

/// Bytes per second that are left for data on a link that carries `wire_rate`: in packets of 256 bytes, the payload
/// that root ports of servers agree on, each with 24 bytes around it (framing 4, header 16 with 64-bit addresses, check
/// sum 4; PCI Express Base Specification 5.0, 2.2 and 4.2). Empty above generation 5, which packs them otherwise.
std::optional<double> payload_rate(double wire_rate, unsigned generation);

/// The GPU's facts, its node and its link: as the driver sees it where `monitor` is given and tells, else as /sys does;
/// without a link where neither knows.
TransferDevice look_at_device(const gpu::DeviceFacts& facts, const system::Probe& probe,
                              const gpu::GpuMonitor* monitor = nullptr);

/// Looks again: keeps the fastest state of the link, and what slowed the GPU down. For right after copies.
void look_at_link(const system::Probe& probe, const gpu::GpuMonitor* monitor, TransferDevice& device);

/// Warns of a link below what device and slot can do, and of a GPU that was slowed down. For when all is measured.
void warn_of_device(const TransferDevice& device, Context& context);

/// "PCIe 5 x16"; empty when the link is unknown.
std::string link_name(const TransferDevice& device);
/// The same of what device and slot can do.
std::string max_link_name(const TransferDevice& device);

/// The result in one line: of pinned memory to the GPU (or what was measured in its place) the best rate of all sizes,
/// its share of the link, then the other kinds. Of several GPUs the slowest. Of a file each way.
std::string transfer_verdict(const TransferResult& result);

/// The fastest row of this kind and direction that is not from a remote node; of several GPUs that of the slowest.
std::optional<double> best_rate(const TransferResult& result, gpu::HostMemory kind, CopyDirection direction);

/// Times allocating pinned memory, or registering memory whose pages are there, and giving it back: the median of
/// three. Empty for pageable memory. The row's device and place are the caller's to fill in.
std::optional<PinningRow> time_pinning(gpu::Device& device, gpu::HostMemory kind, std::size_t bytes, Context& context);

}  // namespace shardkit::bench
