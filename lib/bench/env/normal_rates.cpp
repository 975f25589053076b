#include "bench/env/normal_rates.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/env/environment.hpp"

namespace shardkit {
namespace {

constexpr double kMega = 1e6;

/// By what the drive can do itself: 3000-7000 MB/s up to generation 4, 14000 with generation 5 (docs/measuring.md).
NormalRate nvme_rate(const BlockDevice& drive) {
  NormalRate rate{"nvme", 3000 * kMega, 7000 * kMega, "an NVMe drive, many requests in flight"};
  if (drive.links.empty() || !drive.links.front().pcie.max_speed) return rate;
  const PcieLink& link = drive.links.front().pcie;
  if (*link.max_speed >= 32) rate = {"nvme", 10000 * kMega, 14000 * kMega, "an NVMe drive of PCIe generation 5"};
  if (*link.max_speed <= 8) rate = {"nvme", 2000 * kMega, 3500 * kMega, "an NVMe drive of PCIe generation 3"};
  return rate;
}

std::optional<NormalRate> storage_rate(const Environment& environment) {
  std::optional<NormalRate> rate;
  const BlockDevice drive = environment.block_device.value_or(BlockDevice{});
  switch (environment.storage.storage_class) {
    case StorageClass::hdd:
      rate = NormalRate{"hdd", 150 * kMega, 250 * kMega, "a spinning disk; random reads 100 to 200 a second"};
      break;
    case StorageClass::ssd:
      rate = NormalRate{"ssd", 450 * kMega, 550 * kMega, "an SSD behind SATA"};
      break;
    case StorageClass::nvme:
      rate = nvme_rate(drive);
      break;
    default:
      return std::nullopt;
  }
  if (drive.members.size() > 1) rate->note += fmt::format("; each of {} members", drive.members.size());
  return rate;
}

}  // namespace

std::optional<double> fastest_network(const Environment& environment) {
  std::optional<double> fastest;
  for (const NetworkCard& card : environment.network) {
    if (card.state == "up" && card.bytes_per_second) fastest = std::max(fastest.value_or(0), *card.bytes_per_second);
  }
  for (const RdmaPort& port : environment.rdma) {
    if (port.state == "ACTIVE" && port.bytes_per_second)
      fastest = std::max(fastest.value_or(0), *port.bytes_per_second);
  }
  return fastest;
}

std::vector<NormalRate> normal_rates(const Environment& environment) {
  std::vector<NormalRate> rates;
  if (const auto rate = storage_rate(environment)) rates.push_back(*rate);
  const auto network = fastest_network(environment);
  if (has_remote_cache(environment.storage.storage_class) && network) {
    rates.push_back({"network", std::nullopt, *network, "limit of the fastest link that is up"});
  }
  for (const GpuDevice& gpu : environment.gpu_devices) {
    if (!gpu.pcie.max_speed || !gpu.pcie.max_width) continue;
    const double link = pcie_rate(std::min(*gpu.pcie.max_speed, gpu.pcie.slot_speed.value_or(1e9)),
                                  std::min(*gpu.pcie.max_width, gpu.pcie.slot_width.value_or(1000)));
    rates.push_back({"gpu", 0.8 * link, 0.9 * link, "host to one GPU from pinned memory, in large copies"});
    break;
  }
  return rates;
}

}  // namespace shardkit
