#include "system/disk_stats.hpp"

#include "system/sys_text.hpp"

namespace shardkit {

std::optional<DiskCounters> read_disk_counters(const std::string& device, const Probe& probe) {
  constexpr std::uint64_t kSector = 512;  // whatever the device's own
  const auto text = probe.text("/proc/diskstats");
  if (!text || device.empty()) return std::nullopt;
  for (const auto line : split(*text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() < 14 || words[2] != device) continue;
    const auto number = [&](std::size_t word) { return parse_number(words[word]).value_or(0); };
    const auto seconds = [&](std::size_t word) { return static_cast<double>(number(word)) / 1000; };
    return DiskCounters{number(3), number(5) * kSector, seconds(6),  seconds(13),
                        number(7), number(9) * kSector, seconds(10), seconds(12)};
  }
  return std::nullopt;
}

}  // namespace shardkit
