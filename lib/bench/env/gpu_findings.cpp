#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/env/findings.hpp"

namespace shardkit {
namespace {

using Findings = std::vector<Finding>;
constexpr auto kWarning = FindingSeverity::warning;
constexpr auto kHint = FindingSeverity::hint;

std::string name_of(const GpuState& gpu) { return fmt::format("GPU {} at {}", gpu.index, gpu.pci_address); }

bool holds(const std::vector<std::string>& limits, std::string_view part) {
  return std::ranges::any_of(limits, [&](const std::string& limit) { return limit.find(part) != std::string::npos; });
}

/// Heat and power have names of their own; a hardware slowdown that comes with neither may be of both.
std::string slowdown_remedy(const std::vector<std::string>& faults) {
  const bool heat = holds(faults, "thermal");
  const bool power = holds(faults, "power_brake");
  std::string text;
  if (heat || !power) text = "fans, dust and the temperature of the air that comes in";
  if (power || !heat) text += std::string(text.empty() ? "" : "; ") + "power supplies, their cables, the rack's budget";
  return text + "; nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER";
}

std::string slowdown_facts(const GpuState& gpu, const std::vector<std::string>& faults) {
  std::string text = fmt::format("{}", fmt::join(faults, ", "));
  if (gpu.temperature) text += fmt::format(" at {:.0f} degrees C", *gpu.temperature);
  if (gpu.sm_clock && gpu.max_sm_clock) {
    text += fmt::format(", {:.0f} of {:.0f} MHz", static_cast<double>(*gpu.sm_clock) / 1e6,
                        static_cast<double>(*gpu.max_sm_clock) / 1e6);
  }
  return text;
}

void slowdown(const GpuState& gpu, Findings& findings) {
  const auto faults = slowdowns(gpu.clock_limits);
  if (faults.empty()) return;
  findings.push_back({"gpu_slowdown", kWarning, slowdown_facts(gpu, faults), "clocks that heat and power do not limit",
                      slowdown_remedy(faults),
                      fmt::format("{} is slowed down: {}", name_of(gpu), slowdown_facts(gpu, faults))});
}

void power_limit(const GpuState& gpu, Findings& findings) {
  constexpr double kRounding = 0.99;
  if (!gpu.power_limit || !gpu.default_power_limit) return;
  if (*gpu.power_limit >= kRounding * *gpu.default_power_limit) return;
  findings.push_back({"gpu_power_limit", kHint, fmt::format("{:.0f} W", *gpu.power_limit),
                      fmt::format("{:.0f} W, as it is delivered", *gpu.default_power_limit),
                      fmt::format("fine where the rack's power asks for it; else nvidia-smi -i {} -pl {:.0f}",
                                  gpu.index, *gpu.default_power_limit),
                      fmt::format("{} may take {:.0f} W of {:.0f}: it computes more slowly, and waits less for data",
                                  name_of(gpu), *gpu.power_limit, *gpu.default_power_limit)});
}

void in_use(const GpuState& gpu, Findings& findings) {
  constexpr double kMuch = 0.1;
  if (gpu.gpu_busy.value_or(0) < kMuch) return;
  const std::string busy = fmt::format("busy for {:.0f} % of the time", *gpu.gpu_busy * 100);
  findings.push_back({"gpu_in_use", kHint, busy, "at rest, before something is measured",
                      "nvidia-smi shows by whom; measure when they are done",
                      fmt::format("{} is {}: what others do takes part in every measurement", name_of(gpu), busy)});
}

/// Modes are those of a node: one finding for all of its GPUs.
void mode(const std::vector<GpuState>& gpus, std::optional<std::string> GpuState::*member, std::string_view value,
          Finding finding, Findings& findings) {
  const auto count = std::ranges::count_if(gpus, [&](const GpuState& gpu) { return gpu.*member == value; });
  if (count == 0) return;
  finding.measured = fmt::format("{}, {} of {} GPUs", value, count, gpus.size());
  findings.push_back(std::move(finding));
}

}  // namespace

void judge_gpus(const Environment& environment, Findings& findings) {
  const std::vector<GpuState>& gpus = environment.gpu_monitor.gpus;
  for (const GpuState& gpu : gpus) {
    slowdown(gpu, findings);
    power_limit(gpu, findings);
    in_use(gpu, findings);
  }
  mode(gpus, &GpuState::persistence, "off",
       {"gpu_persistence",
        kHint,
        {},
        "on",
        "start nvidia-persistenced, or nvidia-smi -pm 1",
        "the driver unloads from GPUs that nobody uses: the next program waits for it, often for seconds"},
       findings);
  mode(gpus, &GpuState::mig, "on",
       {"gpu_mig",
        kHint,
        {},
        "off, where one job has the whole GPU",
        "fine when GPUs are shared on purpose; else nvidia-smi -mig 0",
        "GPUs are divided into instances (MIG): a program gets one, with its part of memory and copy engines"},
       findings);
}

}  // namespace shardkit
