#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/env/env.hpp"
#include "core/units.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {
namespace {

using Findings = std::vector<Finding>;

std::string generation(double speed) {
  return fmt::format("generation {} ({} GT/s)", system::pcie_generation(speed), speed);
}

void link_width(const std::string& part, const std::string& name, const system::PcieLink& link, Findings& findings) {
  const auto best = link.best_width();
  if (!link.width || !best || *link.width >= *best) return;
  findings.push_back(
      {part + "_pcie_width", kWarning, fmt::format("x{}", *link.width), fmt::format("x{}", *best),
       "reseat the card or its riser, check for a shared slot and for errors in dmesg (AER)",
       fmt::format("{} at {} runs on {} of {} PCIe lanes: it gets {:.0f} % of its bandwidth", name, link.address,
                   *link.width, *best, 100.0 * static_cast<double>(*link.width) / static_cast<double>(*best))});
}

/// An idle GPU lowers the speed of its link, never its width: then this proves nothing. Drives do not.
enum class Idle { no, maybe, yes };

Idle idle_state(const gpu::GpuState* state) {
  if (!state || !state->performance_state) return Idle::maybe;
  return *state->performance_state == 0 ? Idle::no : Idle::yes;
}

void link_speed(const std::string& part, const std::string& name, const system::PcieLink& link, Idle idle,
                Findings& findings) {
  const auto best = link.best_speed();
  if (!link.speed || !best || *link.speed >= *best || idle == Idle::yes) return;
  const bool may_be_idle = idle == Idle::maybe;
  findings.push_back(
      {part + "_pcie_speed", may_be_idle ? kHint : kWarning, generation(*link.speed), generation(*best),
       may_be_idle ? "check again while the GPU is busy; then the slot's BIOS setting, the riser, AER in dmesg"
                   : "check the BIOS setting of the slot, the riser or cable, and errors in dmesg (AER)",
       fmt::format("the PCIe link of {} at {} runs at {} instead of {}{}", name, link.address, generation(*link.speed),
                   generation(*best), may_be_idle ? "; an idle GPU does this to save power" : "")});
}

void slot(const std::string& part, const std::string& name, const system::PcieLink& link, Findings& findings) {
  const bool slow = link.max_speed && link.slot_speed && *link.slot_speed < *link.max_speed;
  const bool narrow = link.max_width && link.slot_width && *link.slot_width < *link.max_width;
  if (!slow && !narrow) return;
  const std::string has = narrow ? fmt::format("x{}", *link.slot_width) : generation(*link.slot_speed);
  const std::string wants = narrow ? fmt::format("x{}", *link.max_width) : generation(*link.max_speed);
  findings.push_back(
      {part + "_slot", kHint, has, wants, "fine if the machine has no better slot; otherwise move the card",
       fmt::format("the slot of {} at {} offers {}, the card supports {}", name, link.address, has, wants)});
}

void link(const std::string& part, const std::string& name, const system::PcieLink& facts, Idle idle,
          Findings& findings) {
  link_width(part, name, facts, findings);
  link_speed(part, name, facts, idle, findings);
  slot(part, name, facts, findings);
}

void network_link(const system::NetworkCard& card, Findings& findings) {
  if (!card.pcie || !card.bytes_per_second) return;
  const auto bus = system::pcie_rate(card.pcie->speed, card.pcie->width);
  if (!bus || *bus >= *card.bytes_per_second) return;
  findings.push_back({"network_pcie", kWarning, format_rate(*bus), format_rate(*card.bytes_per_second) + " or more",
                      "use a slot with more lanes or a newer generation",
                      fmt::format("{} is faster than its PCIe link: {} compared with {}", card.name, format_rate(*bus),
                                  format_rate(*card.bytes_per_second))});
}

/// Nodes with a CPU on which this process may run.
std::set<std::uint64_t> own_nodes(const Environment& environment) {
  const auto allowed = system::parse_cpu_list(environment.cpu.affinity_list);
  const std::set<unsigned> mine(allowed.begin(), allowed.end());
  std::set<std::uint64_t> nodes;
  for (const system::NumaNode& node : environment.numa_nodes) {
    const auto cpus = system::parse_cpu_list(node.cpus);
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
                      fmt::format("{} is attached to NUMA node {}, where this process may not run: all its data "
                                  "crosses the link between sockets",
                                  name, *node)});
}

void split(const system::DriveLink& drive, const std::set<std::uint64_t>& of_gpus, Findings& findings) {
  const auto node = drive.pcie.numa_node;
  if (!node || of_gpus.empty() || of_gpus.contains(*node)) return;
  findings.push_back({"numa_split", kHint, fmt::format("{} on node {}, GPUs on others", drive.disk, *node),
                      "drive and GPUs on one node", "stage to a drive beside the GPUs, if there is one",
                      "data from the drive crosses the link between sockets before it reaches a GPU"});
}

/// The drives below the data that hang on PCIe.
std::vector<system::DriveLink> drives(const Environment& environment) {
  return environment.block_device ? environment.block_device->links : std::vector<system::DriveLink>();
}

void distances(const Environment& environment, Findings& findings) {
  if (environment.numa_nodes.size() < 2) return;
  const auto mine = own_nodes(environment);
  std::set<std::uint64_t> of_gpus;
  for (const system::GpuDevice& gpu : environment.gpu_devices) {
    remote("GPU " + gpu.pcie.address, gpu.pcie.numa_node, mine, findings);
    if (gpu.pcie.numa_node) of_gpus.insert(*gpu.pcie.numa_node);
  }
  for (const system::NetworkCard& card : environment.network) {
    if (card.pcie && card.state == "up") remote(card.name, card.pcie->numa_node, mine, findings);
  }
  for (const system::DriveLink& drive : drives(environment)) {
    remote(drive.disk, drive.pcie.numa_node, mine, findings);
    split(drive, of_gpus, findings);
  }
}

void hidden_gpus(const Environment& environment, Findings& findings) {
  const std::size_t on_bus = environment.gpu_devices.size();
  if (on_bus <= environment.gpus) return;
  findings.push_back(
      {"gpus_not_visible", kHint, fmt::format("{} of {}", environment.gpus, on_bus),
       "all GPUs, or those assigned by the scheduler",
       "Docker: --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility,video; Kubernetes: nvidia.com/gpu; bare "
       "metal: check that the driver is loaded",
       fmt::format("the PCI bus has {} NVIDIA GPUs, this process can use {}", on_bus, environment.gpus)});
}

std::string name_of(const gpu::GpuState& gpu) { return fmt::format("GPU {} at {}", gpu.index, gpu.pci_address); }

bool holds(const std::vector<std::string>& limits, std::string_view part) {
  return std::ranges::any_of(limits, [&](const std::string& limit) { return limit.find(part) != std::string::npos; });
}

/// Heat and power have their own reasons; a hardware slowdown without either may be caused by both.
std::string slowdown_remedy(const std::vector<std::string>& faults) {
  const bool heat = holds(faults, "thermal");
  const bool power = holds(faults, "power_brake");
  std::string text;
  if (heat || !power) text = "check fans, dust and intake air temperature";
  if (power || !heat) text += std::string(text.empty() ? "" : "; ") + "check power supplies, cables and rack budget";
  return text + "; nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER";
}

std::string slowdown_facts(const gpu::GpuState& gpu, const std::vector<std::string>& faults) {
  std::string text = fmt::format("{}", fmt::join(faults, ", "));
  if (gpu.temperature) text += fmt::format(" at {:.0f} degrees C", *gpu.temperature);
  if (gpu.sm_clock && gpu.max_sm_clock) {
    text += fmt::format(", {:.0f} of {:.0f} MHz", static_cast<double>(*gpu.sm_clock) / 1e6,
                        static_cast<double>(*gpu.max_sm_clock) / 1e6);
  }
  return text;
}

void slowdown(const gpu::GpuState& gpu, Findings& findings) {
  const auto faults = gpu::slowdowns(gpu.clock_limits);
  if (faults.empty()) return;
  findings.push_back({"gpu_slowdown", kWarning, slowdown_facts(gpu, faults), "clocks not limited by heat or power",
                      slowdown_remedy(faults),
                      fmt::format("{} is throttled: {}", name_of(gpu), slowdown_facts(gpu, faults))});
}

std::string_view fault_text(gpu::GpuFault fault) {
  constexpr std::array<std::string_view, kEnumNames<gpu::GpuFault>.size()> kTexts{
      "has fallen off the bus", "works again only after a reset", "does not answer its driver"};
  return kTexts.at(static_cast<std::size_t>(fault));
}

void lost(const gpu::GpuState& gpu, Findings& findings) {
  if (!gpu.fault) return;
  findings.push_back(
      {"gpu_lost", kWarning, std::string(enum_name(*gpu.fault)), "a GPU that answers",
       "look for Xid errors in dmesg, then nvidia-smi --gpu-reset or restart the machine",
       fmt::format("{} {}: jobs that use it fail",
                   gpu.pci_address.empty() ? fmt::format("GPU {}", gpu.index) : name_of(gpu), fault_text(*gpu.fault))});
}

void power_limit(const gpu::GpuState& gpu, Findings& findings) {
  constexpr double kRounding = 0.99;
  if (!gpu.power_limit || !gpu.default_power_limit) return;
  if (*gpu.power_limit >= kRounding * *gpu.default_power_limit) return;
  findings.push_back(
      {"gpu_power_limit", kHint, fmt::format("{:.0f} W", *gpu.power_limit),
       fmt::format("{:.0f} W, the default", *gpu.default_power_limit),
       fmt::format("fine if the rack's power budget requires it; otherwise nvidia-smi -i {} -pl {:.0f}", gpu.index,
                   *gpu.default_power_limit),
       fmt::format("the power limit of {} is {:.0f} W of {:.0f} W: it computes more slowly, and waits less for data",
                   name_of(gpu), *gpu.power_limit, *gpu.default_power_limit)});
}

void in_use(const gpu::GpuState& gpu, Findings& findings) {
  constexpr double kMuch = 0.1;
  if (gpu.gpu_busy.value_or(0) < kMuch) return;
  const std::string busy = fmt::format("busy for {:.0f} % of the time", *gpu.gpu_busy * 100);
  findings.push_back(
      {"gpu_in_use", kHint, busy, "idle before a measurement",
       "nvidia-smi shows the processes; measure when they have ended",
       fmt::format("{} is {}: the load of other processes affects every measurement", name_of(gpu), busy)});
}

/// Modes are those of a node: one finding for all of its GPUs.
void mode(const std::vector<gpu::GpuState>& gpus, std::optional<std::string> gpu::GpuState::*member,
          std::string_view value, Finding finding, Findings& findings) {
  const auto count = std::ranges::count_if(gpus, [&](const gpu::GpuState& gpu) { return gpu.*member == value; });
  if (count == 0) return;
  finding.measured = fmt::format("{}, {} of {} GPUs", value, count, gpus.size());
  findings.push_back(std::move(finding));
}

}  // namespace

void judge_devices(const Environment& environment, Findings& findings) {
  for (const system::GpuDevice& gpu : environment.gpu_devices) {
    const gpu::GpuState* const state = environment.gpu_monitor.find(gpu.pcie.address);
    if (state && state->c2c_rate) continue;  // copies do not use its PCIe link
    link("gpu", gpu.model, gpu.pcie, idle_state(state), findings);
  }
  for (const system::DriveLink& drive : drives(environment)) {
    if (drive.disk.starts_with("nvme")) link("nvme", drive.disk, drive.pcie, Idle::no, findings);
  }
  for (const system::NetworkCard& card : environment.network) network_link(card, findings);
  distances(environment, findings);
  hidden_gpus(environment, findings);

  const std::vector<gpu::GpuState>& gpus = environment.gpu_monitor.gpus;
  for (const gpu::GpuState& gpu : gpus) {
    lost(gpu, findings);
    slowdown(gpu, findings);
    power_limit(gpu, findings);
    in_use(gpu, findings);
  }
  mode(gpus, &gpu::GpuState::persistence, "off",
       {"gpu_persistence",
        kHint,
        {},
        "on",
        "start nvidia-persistenced, or nvidia-smi -pm 1",
        "the driver unloads from unused GPUs: the next program waits until it is loaded, often for seconds"},
       findings);
  mode(gpus, &gpu::GpuState::mig, "on",
       {"gpu_mig",
        kHint,
        {},
        "off, if one job has the whole GPU",
        "fine if GPUs are shared on purpose; otherwise nvidia-smi -mig 0",
        "GPUs are divided into instances (MIG): each program gets only a part of the memory and copy engines"},
       findings);
}

}  // namespace shardkit::bench
