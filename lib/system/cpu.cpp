#include "system/cpu.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "core/text.hpp"

namespace shardkit::system {
namespace {

constexpr const char* kFolder = "/sys/devices/system/cpu/";

/// Arm's processors have no name in /proc/cpuinfo, only numbers (arch/arm64/include/asm/cputype.h).
struct ArmPart {
  std::string_view implementer;
  std::string_view part;
  std::string_view name;
};
constexpr std::array kArmParts{
    ArmPart{"0x41", "0xd0c", "Arm Neoverse N1"},
    ArmPart{"0x41", "0xd49", "Arm Neoverse N2"},
    ArmPart{"0x41", "0xd8e", "Arm Neoverse N3"},
    ArmPart{"0x41", "0xd40", "Arm Neoverse V1"},
    ArmPart{"0x41", "0xd4f", "Arm Neoverse V2"},
    ArmPart{"0x41", "0xd84", "Arm Neoverse V3"},
    ArmPart{"0x41", "0xd83", "Arm Neoverse V3AE"},
    ArmPart{"0x41", "0xd85", "Arm Cortex-X925"},
    ArmPart{"0x41", "0xd87", "Arm Cortex-A725"},
    ArmPart{"0x4e", "0x010", "NVIDIA Olympus"},
    ArmPart{"0x6d", "0xd49", "Microsoft Azure Cobalt 100"},
    ArmPart{"0xc0", "0xac3", "Ampere-1"},
    ArmPart{"0xc0", "0xac4", "Ampere-1a"},
    ArmPart{"0x48", "0xd01", "HiSilicon TSV110"},
    ArmPart{"0x46", "0x001", "Fujitsu A64FX"},
};

/// The value of "name\t: value" in /proc/cpuinfo.
std::string cpuinfo_value(std::string_view text, std::string_view name) {
  std::string_view value = line_value(text, name);
  if (value.starts_with(':')) value.remove_prefix(1);
  return std::string(trimmed(value));
}

/// The name of the whole chip, which its firmware gives as JEDEC's number of the vendor and one of its own.
std::string_view chip_of(const Probe& probe) {
  return sys_word(probe, "/sys/devices/soc0/soc_id") == "jep106:036b:0241" ? "NVIDIA Grace" : "";
}

std::string processor_model(const Probe& probe, std::string_view cpuinfo) {
  const std::string name = cpuinfo_value(cpuinfo, "model name");
  if (!name.empty()) return name;
  const std::string implementer = cpuinfo_value(cpuinfo, "CPU implementer");
  if (implementer.empty()) return {};
  const std::string part = cpuinfo_value(cpuinfo, "CPU part");
  for (const ArmPart& known : kArmParts) {
    if (known.implementer != implementer || known.part != part) continue;
    const std::string_view chip = chip_of(probe);
    return chip.empty() ? std::string(known.name) : fmt::format("{} ({})", chip, known.name);
  }
  return fmt::format("arm64 implementer {}, part {}", implementer, part);
}

std::uint64_t processors_of_cpuinfo(std::string_view text) {
  const auto lines = split(text, '\n');
  return static_cast<std::uint64_t>(
      std::count_if(lines.begin(), lines.end(), [](std::string_view line) { return line.starts_with("processor"); }));
}

/// Counted by /sys: cores are distinct lists of sibling threads.
void add_topology(const Probe& probe, const std::vector<unsigned>& online, CpuFacts& facts) {
  std::set<std::string> packages;
  std::set<std::string> cores;
  std::size_t threads = 0;
  for (const unsigned cpu : online) {
    const std::string folder = fmt::format("{}cpu{}/topology/", kFolder, cpu);
    const auto package = probe.text(folder + "physical_package_id");
    const auto siblings = probe.text(folder + "thread_siblings_list");
    if (!package || !siblings) return;
    packages.insert(*package);
    if (cores.insert(*siblings).second) threads = std::max(threads, parse_cpu_list(*siblings).size());
  }
  if (cores.empty()) return;
  facts.sockets = packages.size();
  facts.cores = cores.size();
  facts.threads_per_core = threads;
}

std::optional<std::uint64_t> hertz(const Probe& probe, const std::string& file) {
  const auto kilohertz = sys_number(probe, file);
  return kilohertz ? std::optional(*kilohertz * 1000) : std::nullopt;
}

void add_frequency(const Probe& probe, const std::vector<unsigned>& online, CpuFacts& facts) {
  const std::string first = fmt::format("{}cpu{}/cpufreq/", kFolder, online.empty() ? 0 : online.front());
  facts.frequency_driver = sys_word(probe, first + "scaling_driver");
  facts.governor = sys_word(probe, first + "scaling_governor");
  facts.energy_preference = sys_word(probe, first + "energy_performance_preference");
  facts.min_hertz = hertz(probe, first + "scaling_min_freq");
  facts.max_hertz = hertz(probe, first + "scaling_max_freq");
  for (const unsigned cpu : online) {
    const auto governor = probe.text(fmt::format("{}cpu{}/cpufreq/scaling_governor", kFolder, cpu));
    if (governor && *governor != facts.governor) facts.governor = "mixed";
  }
}

/// "cpu user nice system idle iowait irq softirq steal guest guest_nice": guests are in user and nice already.
bool add_times(std::string_view line, CpuTimes& times) {
  constexpr std::size_t kKinds = 8;
  constexpr std::size_t kIdle = 3;
  constexpr std::size_t kWaiting = 4;
  constexpr std::size_t kInterrupt = 5;
  constexpr std::size_t kSoftInterrupt = 6;
  constexpr std::size_t kStolen = 7;
  const auto words = split(line, ' ');
  if (words.size() <= kKinds) return false;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const double seconds = static_cast<double>(parse_count(words[kind + 1]).value_or(0)) * kClockTick;
    times.total_seconds += seconds;
    if (kind != kIdle && kind != kWaiting) times.busy_seconds += seconds;
    if (kind == kStolen) times.stolen_seconds += seconds;
    if (kind == kInterrupt || kind == kSoftInterrupt) times.interrupt_seconds += seconds;
  }
  return true;
}

}  // namespace

CpuFacts read_cpu(const Probe& probe) {
  CpuFacts facts;
  const std::string cpuinfo = probe.text("/proc/cpuinfo").value_or("");
  facts.model = processor_model(probe, cpuinfo);
  const auto online = parse_cpu_list(probe.text(std::string(kFolder) + "online").value_or(""));
  facts.processors = online.empty() ? processors_of_cpuinfo(cpuinfo) : online.size();
  const std::string status = probe.text("/proc/self/status").value_or("");
  facts.affinity_list = line_value(status, "Cpus_allowed_list:");
  facts.affinity = parse_cpu_list(facts.affinity_list).size();
  add_topology(probe, online, facts);
  add_frequency(probe, online, facts);
  return facts;
}

std::optional<CpuTimes> read_cpu_times(const Probe& probe, const std::vector<unsigned>& some) {
  const auto text = probe.text("/proc/stat");
  if (!text) return std::nullopt;
  CpuTimes times;
  bool found = false;
  for (const auto line : split(*text, '\n')) {
    if (!line.starts_with("cpu")) continue;
    const auto number = parse_count(line.substr(3, line.find(' ') - 3));  // empty in the line of all
    if (number ? std::ranges::count(some, *number) > 0 : some.empty()) found = add_times(line, times) || found;
    if (number) ++times.processors;
  }
  if (!found) return std::nullopt;
  times.blocked = parse_count(line_value(*text, "procs_blocked ")).value_or(0);
  return times;
}

}  // namespace shardkit::system
