#include "system/cpu_times.hpp"

#include "system/sys_text.hpp"

namespace shardkit {
namespace {

/// "cpu user nice system idle iowait irq softirq steal guest guest_nice": guests are in user and nice already.
bool add_times(std::string_view line, CpuTimes& times) {
  constexpr std::size_t kKinds = 8;
  constexpr std::size_t kIdle = 3;
  constexpr std::size_t kWaiting = 4;
  constexpr std::size_t kStolen = 7;
  const auto words = split(line, ' ');
  if (words.size() <= kKinds) return false;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const double seconds = static_cast<double>(parse_number(words[kind + 1]).value_or(0)) * kClockTick;
    times.total_seconds += seconds;
    if (kind != kIdle && kind != kWaiting) times.busy_seconds += seconds;
    if (kind == kStolen) times.stolen_seconds += seconds;
  }
  return true;
}

}  // namespace

std::optional<CpuTimes> read_cpu_times(const Probe& probe) {
  const auto text = probe.text("/proc/stat");
  if (!text) return std::nullopt;
  CpuTimes times;
  bool told = false;
  for (const auto line : split(*text, '\n')) {
    if (line.starts_with("cpu ")) {
      told = add_times(line, times);
    } else if (line.starts_with("cpu")) {
      ++times.processors;
    }
  }
  if (!told) return std::nullopt;
  times.blocked = parse_number(line_value(*text, "procs_blocked ")).value_or(0);
  return times;
}

}  // namespace shardkit
