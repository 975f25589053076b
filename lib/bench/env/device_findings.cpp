#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "bench/env/findings.hpp"
#include "core/units.hpp"
#include "system/sys_text.hpp"

namespace shardkit {
namespace {

using Findings = std::vector<Finding>;
constexpr auto kWarning = FindingSeverity::warning;
constexpr auto kHint = FindingSeverity::hint;

std::string generation(double speed) { return fmt::format("generation {} ({} GT/s)", pcie_generation(speed), speed); }

/// What device and slot can do together.
template <class T>
std::optional<T> lesser(const std::optional<T>& device, const std::optional<T>& slot) {
  return device && slot ? std::min(*device, *slot) : device;
}

void link_width(const std::string& part, const std::string& name, const PcieLink& link, Findings& findings) {
  const auto best = lesser(link.max_width, link.slot_width);
  if (!link.width || !best || *link.width >= *best) return;
  findings.push_back(
      {part + "_pcie_width", kWarning, fmt::format("x{}", *link.width), fmt::format("x{}", *best),
       "reseat the card or its riser, look for a shared slot and for errors in dmesg (AER)",
       fmt::format("{} at {} runs on {} of {} PCIe lanes: it gets {:.0f} % of its bandwidth", name, link.address,
                   *link.width, *best, 100.0 * static_cast<double>(*link.width) / static_cast<double>(*best))});
}

/// A GPU at rest lowers the speed of its link, never its width: then this proves nothing. Drives do not.
enum class Rest { no, maybe, yes };

Rest rest_of(const GpuState* state) {
  if (!state || !state->performance_state) return Rest::maybe;
  return *state->performance_state == 0 ? Rest::no : Rest::yes;
}

void link_speed(const std::string& part, const std::string& name, const PcieLink& link, Rest rest, Findings& findings) {
  const auto best = lesser(link.max_speed, link.slot_speed);
  if (!link.speed || !best || *link.speed >= *best || rest == Rest::yes) return;
  const bool may_be_idle = rest == Rest::maybe;
  findings.push_back(
      {part + "_pcie_speed", may_be_idle ? kHint : kWarning, generation(*link.speed), generation(*best),
       may_be_idle ? "look again while the GPU works; if it stays so: BIOS setting of the slot, riser, AER in dmesg"
                   : "BIOS setting of the slot, riser or cable, errors in dmesg (AER)",
       fmt::format("{} at {} runs its PCIe link at {} of {}{}", name, link.address, generation(*link.speed),
                   generation(*best), may_be_idle ? "; an idle GPU does so to save power" : "")});
}

void slot(const std::string& part, const std::string& name, const PcieLink& link, Findings& findings) {
  const bool slow = link.max_speed && link.slot_speed && *link.slot_speed < *link.max_speed;
  const bool narrow = link.max_width && link.slot_width && *link.slot_width < *link.max_width;
  if (!slow && !narrow) return;
  const std::string has = narrow ? fmt::format("x{}", *link.slot_width) : generation(*link.slot_speed);
  const std::string wants = narrow ? fmt::format("x{}", *link.max_width) : generation(*link.max_speed);
  findings.push_back(
      {part + "_slot", kHint, has, wants, "fine when the machine has no better slot; else move the card",
       fmt::format("the slot of {} at {} offers {}, the card could do {}", name, link.address, has, wants)});
}

void link(const std::string& part, const std::string& name, const PcieLink& facts, Rest rest, Findings& findings) {
  link_width(part, name, facts, findings);
  link_speed(part, name, facts, rest, findings);
  slot(part, name, facts, findings);
}

void network_link(const NetworkCard& card, Findings& findings) {
  if (!card.pcie || !card.bytes_per_second || !card.pcie->speed || !card.pcie->width) return;
  const double bus = pcie_rate(*card.pcie->speed, *card.pcie->width);
  if (bus >= *card.bytes_per_second) return;
  findings.push_back({"network_pcie", kWarning, format_rate(bus), format_rate(*card.bytes_per_second) + " or more",
                      "a slot with more lanes or a newer generation",
                      fmt::format("{} is faster than its PCIe link: {} of {}", card.name, format_rate(bus),
                                  format_rate(*card.bytes_per_second))});
}

/// Nodes that hold a processor on which this process may run.
std::set<std::uint64_t> own_nodes(const Environment& environment) {
  const auto allowed = parse_cpu_list(environment.cpu.affinity_list);
  const std::set<unsigned> mine(allowed.begin(), allowed.end());
  std::set<std::uint64_t> nodes;
  for (const NumaNode& node : environment.numa_nodes) {
    const auto cpus = parse_cpu_list(node.cpus);
    if (std::any_of(cpus.begin(), cpus.end(), [&](unsigned cpu) { return mine.contains(cpu); }))
      nodes.insert(node.node);
  }
  return nodes;
}

void remote(const std::string& name, std::optional<std::uint64_t> node, const std::set<std::uint64_t>& mine,
            Findings& findings) {
  if (!node || mine.empty() || mine.contains(*node)) return;
  findings.push_back({"numa_remote", kWarning, fmt::format("{} on node {}", name, *node), "processors of the same node",
                      fmt::format("numactl --cpunodebind={0} --membind={0}", *node),
                      fmt::format("{} hangs on NUMA node {}, where this process may not run: all its data crosses "
                                  "the link between sockets",
                                  name, *node)});
}

void split(const DriveLink& drive, const std::set<std::uint64_t>& of_gpus, Findings& findings) {
  const auto node = drive.pcie.numa_node;
  if (!node || of_gpus.empty() || of_gpus.contains(*node)) return;
  findings.push_back({"numa_split", kHint, fmt::format("{} on node {}, GPUs on others", drive.disk, *node),
                      "drive and GPUs on one node", "stage to a drive beside the GPUs, if there is one",
                      "what the drive gives crosses the link between sockets before it reaches a GPU"});
}

/// The drives below the data that hang on PCIe.
std::vector<DriveLink> drives(const Environment& environment) {
  return environment.block_device ? environment.block_device->links : std::vector<DriveLink>();
}

void distances(const Environment& environment, Findings& findings) {
  if (environment.numa_nodes.size() < 2) return;
  const auto mine = own_nodes(environment);
  std::set<std::uint64_t> of_gpus;
  for (const GpuDevice& gpu : environment.gpu_devices) {
    remote("GPU " + gpu.pcie.address, gpu.pcie.numa_node, mine, findings);
    if (gpu.pcie.numa_node) of_gpus.insert(*gpu.pcie.numa_node);
  }
  for (const NetworkCard& card : environment.network) {
    if (card.pcie && card.state == "up") remote(card.name, card.pcie->numa_node, mine, findings);
  }
  for (const DriveLink& drive : drives(environment)) {
    remote(drive.disk, drive.pcie.numa_node, mine, findings);
    split(drive, of_gpus, findings);
  }
}

void hidden_gpus(const Environment& environment, Findings& findings) {
  const std::size_t on_bus = environment.gpu_devices.size();
  if (on_bus <= environment.gpus) return;
  findings.push_back(
      {"gpus_not_visible", kHint, fmt::format("{} of {}", environment.gpus, on_bus),
       "all, or those that the scheduler gave",
       "Docker: --gpus all; Kubernetes: nvidia.com/gpu; bare metal: is the driver loaded?",
       fmt::format("{} NVIDIA GPUs are on the PCI bus, this process sees {}", on_bus, environment.gpus)});
}

}  // namespace

void judge_devices(const Environment& environment, Findings& findings) {
  for (const GpuDevice& gpu : environment.gpu_devices) {
    link("gpu", gpu.model, gpu.pcie, rest_of(environment.gpu_monitor.find(gpu.pcie.address)), findings);
  }
  for (const DriveLink& drive : drives(environment)) {
    if (drive.disk.starts_with("nvme")) link("nvme", drive.disk, drive.pcie, Rest::no, findings);
  }
  for (const NetworkCard& card : environment.network) network_link(card, findings);
  distances(environment, findings);
  hidden_gpus(environment, findings);
}

}  // namespace shardkit
