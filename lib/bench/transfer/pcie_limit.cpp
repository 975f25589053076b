#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/transfer/transfer.hpp"
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
  std::vector<std::string> slowdowns;
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
  sight.slowdowns = gpu::slowdowns(state->clock_limits);
  return sight;
}

void add_slowdowns(const Sight& sight, TransferDevice& device) {
  for (const std::string& name : sight.slowdowns) {
    if (std::ranges::find(device.slowdowns, name) == device.slowdowns.end()) device.slowdowns.push_back(name);
  }
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

/// The fastest row of a GPU, kind and direction; null when there is none.
const TransferRow* best_row(const TransferResult& result, std::uint64_t device, gpu::HostMemory kind,
                            CopyDirection direction, bool remote) {
  const TransferRow* best = nullptr;
  for (const TransferRow& row : result.rows) {
    if (row.device != device || row.kind != kind || row.direction != direction) continue;
    if ((row.numa == NumaLocation::remote) != remote) continue;
    if (!best || row.bytes_per_second > best->bytes_per_second) best = &row;
  }
  return best;
}

std::string_view direction_text(CopyDirection direction) {
  constexpr std::array<std::string_view, 3> kTexts{"host to device", "device to host", "both directions at once"};
  return kTexts.at(static_cast<std::size_t>(direction));
}

/// The row for the verdict: pinned memory to the GPU, or the first row if that was not measured.
struct Lead {
  gpu::HostMemory kind;
  CopyDirection direction;
  bool remote;
};

Lead lead_of(const TransferResult& result) {
  const TransferRow& first = result.rows.front();
  const auto wanted = std::find_if(result.rows.begin(), result.rows.end(), [](const TransferRow& row) {
    return row.kind == gpu::HostMemory::pinned && row.direction == CopyDirection::h2d;
  });
  const TransferRow& row = wanted == result.rows.end() ? first : *wanted;
  return {row.kind, row.direction, row.numa == NumaLocation::remote};
}

const TransferDevice& slowest_device(const TransferResult& result, const Lead& lead) {
  const auto rate = [&](const TransferDevice& device) {
    const TransferRow* const row = best_row(result, device.device, lead.kind, lead.direction, lead.remote);
    return row ? row->bytes_per_second : 0;
  };
  return *std::min_element(result.devices.begin(), result.devices.end(),
                           [&](const TransferDevice& a, const TransferDevice& b) { return rate(a) < rate(b); });
}

std::string share_text(const TransferRow& row, const TransferDevice& device) {
  if (!row.wire_share) return " (PCIe link unknown)";
  return fmt::format(", {:.0f} % of {}'s wire limit", *row.wire_share * 100, link_name(device));
}

std::string copies_verdict(const TransferResult& result) {
  const Lead lead = lead_of(result);
  const TransferDevice& device = slowest_device(result, lead);
  const auto best = [&](gpu::HostMemory kind, bool remote) {
    return best_row(result, device.device, kind, lead.direction, remote);
  };
  const TransferRow& row = *best(lead.kind, lead.remote);
  std::string text;
  if (result.devices.size() > 1) {
    text = fmt::format("{} GPUs at once, the slowest is number {}: ", result.devices.size(), device.device);
  }
  text += fmt::format("{} {} {}{}", enum_name(lead.kind), direction_text(lead.direction),
                      format_rate(row.bytes_per_second), share_text(row, device));
  for (std::size_t i = 0; i < kEnumNames<gpu::HostMemory>.size(); ++i) {
    const auto kind = static_cast<gpu::HostMemory>(i);
    const TransferRow* const other = kind == lead.kind ? nullptr : best(kind, lead.remote);
    if (other) text += fmt::format("; {} {}", enum_name(kind), format_rate(other->bytes_per_second));
  }
  if (const TransferRow* const far = lead.remote ? nullptr : best(lead.kind, true)) {
    text += fmt::format("; from NUMA node {} {}", far->numa_node.value_or(0), format_rate(far->bytes_per_second));
  }
  return text;
}

std::string file_verdict(const FileTransfer& file) {
  std::string text;
  for (const FileWay& way : file.rows) {
    if (!text.empty()) text += "; ";
    if (way.way == FileReader::cufile) {
      text += fmt::format("cuFile ({} mode) ", enum_name(file.mode));
    } else {
      text += "pread and pinned copies ";
    }
    text += format_rate(way.bytes_per_second);
  }
  return file.missing ? fmt::format("{}; {}", text, *file.missing) : text;
}

using Clock = std::chrono::steady_clock;

constexpr unsigned kRepetitions = 3;
constexpr double kGib = 1024.0 * 1024 * 1024;

struct Cost {
  double prepare = 0;
  double release = 0;
};

Cost cost_of(const auto& prepare, const auto& release) {
  const auto start = Clock::now();
  prepare();
  const auto prepared = Clock::now();
  release();
  return {std::chrono::duration<double>(prepared - start).count(),
          std::chrono::duration<double>(Clock::now() - prepared).count()};
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
  add_slowdowns(now, device);
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
  if (!device.slowdowns.empty()) {
    context.warn(
        "gpu_slowed_down",
        fmt::format("GPU {} was throttled while copying ({}), so its rates may be too low; `iobench env` shows details",
                    device.device, fmt::join(device.slowdowns, ", ")));
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

std::optional<double> best_rate(const TransferResult& result, gpu::HostMemory kind, CopyDirection direction) {
  std::optional<double> slowest;
  for (const TransferDevice& device : result.devices) {
    const TransferRow* const row = best_row(result, device.device, kind, direction, false);
    if (row) slowest = std::min(slowest.value_or(row->bytes_per_second), row->bytes_per_second);
  }
  return slowest;
}

std::string transfer_verdict(const TransferResult& result) {
  return result.file ? file_verdict(*result.file) : copies_verdict(result);
}

std::optional<PinningRow> time_pinning(gpu::Device& device, gpu::HostMemory kind, std::size_t bytes, Context& context) {
  if (kind == gpu::HostMemory::pageable) return std::nullopt;
  std::vector<double> prepare;
  std::vector<double> release;
  std::optional<gpu::FreshPages> pages;
  if (kind == gpu::HostMemory::registered) pages.emplace(bytes);
  for (unsigned i = 0; i < kRepetitions; ++i) {
    context.throw_if_stopped();
    MutableBytes memory;
    const bool combined = kind == gpu::HostMemory::write_combined;
    const Cost cost =
        pages ? cost_of([&] { device.register_memory(pages->bytes()); },
                        [&] { device.unregister_memory(pages->bytes()); })
              : cost_of([&] { memory = device.allocate_pinned(bytes, combined); }, [&] { device.free_pinned(memory); });
    prepare.push_back(cost.prepare);
    release.push_back(cost.release);
  }
  PinningRow row;
  row.kind = kind;
  row.bytes = bytes;
  row.prepare_seconds = stats::summarize(prepare).median;
  row.release_seconds = stats::summarize(release).median;
  row.prepare_seconds_per_gib = row.prepare_seconds * kGib / static_cast<double>(bytes);
  row.release_seconds_per_gib = row.release_seconds * kGib / static_cast<double>(bytes);
  return row;
}

}  // namespace shardkit::bench
