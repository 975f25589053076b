#include "system/memory.hpp"

#include <algorithm>
#include <string_view>

namespace shardkit::system {
namespace {

constexpr const char* kHugePages = "/sys/kernel/mm/transparent_hugepage/";

/// "MemTotal:  24684084 kB"; 0 when there is no such line.
std::uint64_t kibibytes(std::string_view text, std::string_view name) {
  const std::string_view value = line_value(text, name);
  return parse_number(value.substr(0, value.find(' '))).value_or(0) * 1024;
}

/// "always [madvise] never"
std::string chosen(const std::string& text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open);
  if (open == std::string::npos || close == std::string::npos) return {};
  return text.substr(open + 1, close - open - 1);
}

std::optional<std::uint64_t> unless_zero(std::optional<std::uint64_t> value) {
  return value.value_or(0) == 0 ? std::nullopt : value;
}

}  // namespace

MemoryFacts read_memory(const Probe& probe) {
  const std::string text = probe.text("/proc/meminfo").value_or("");
  const auto setting = [&](const char* name) { return sys_number(probe, std::string("/proc/sys/vm/") + name); };
  const std::uint64_t huge_page = kibibytes(text, "Hugepagesize:");
  MemoryFacts facts;
  facts.total = kibibytes(text, "MemTotal:");
  facts.available = kibibytes(text, "MemAvailable:");
  facts.swap_total = kibibytes(text, "SwapTotal:");
  facts.swap_free = kibibytes(text, "SwapFree:");
  facts.huge_pages = parse_number(line_value(text, "HugePages_Total:")).value_or(0) * huge_page;
  facts.huge_pages_free = parse_number(line_value(text, "HugePages_Free:")).value_or(0) * huge_page;
  facts.transparent_huge_pages = chosen(sys_word(probe, std::string(kHugePages) + "enabled"));
  facts.huge_page_defrag = chosen(sys_word(probe, std::string(kHugePages) + "defrag"));
  facts.swappiness = setting("swappiness");
  facts.zone_reclaim_mode = setting("zone_reclaim_mode");
  facts.dirty_ratio = setting("dirty_ratio");
  facts.dirty_background_ratio = setting("dirty_background_ratio");
  facts.dirty_bytes = unless_zero(setting("dirty_bytes"));
  facts.dirty_background_bytes = unless_zero(setting("dirty_background_bytes"));
  return facts;
}

std::optional<MemoryUse> read_memory_use(const Probe& probe) {
  const auto text = probe.text("/proc/meminfo");
  if (!text || kibibytes(*text, "MemTotal:") == 0) return std::nullopt;
  MemoryUse use;
  use.total = kibibytes(*text, "MemTotal:");
  use.available = kibibytes(*text, "MemAvailable:");
  use.page_cache = kibibytes(*text, "Cached:") + kibibytes(*text, "Buffers:");
  const std::string events = probe.text("/proc/vmstat").value_or("");
  use.major_faults = parse_number(line_value(events, "pgmajfault "));
  const auto in = parse_number(line_value(events, "pswpin "));
  const auto out = parse_number(line_value(events, "pswpout "));
  if (in && out) use.swapped_pages = *in + *out;
  return use;
}

std::vector<NumaNode> read_numa_nodes(const Probe& probe) {
  const std::string all = "/sys/devices/system/node";
  std::vector<NumaNode> nodes;
  for (const std::string& name : probe.names(all)) {
    const auto number = name.starts_with("node") ? parse_number(name.substr(4)) : std::nullopt;
    if (!number) continue;
    const std::string folder = all + "/" + name;
    const std::string memory = probe.text(folder + "/meminfo").value_or("");  // "Node 0 MemTotal: 24684084 kB"
    nodes.push_back({*number, sys_word(probe, folder + "/cpulist"),
                     kibibytes(memory, "Node " + name.substr(4) + " MemTotal:"),
                     kibibytes(memory, "Node " + name.substr(4) + " MemFree:")});
  }
  std::sort(nodes.begin(), nodes.end(), [](const NumaNode& a, const NumaNode& b) { return a.node < b.node; });
  return nodes;
}

namespace {

/// "some avg10=12.84 avg60=7.92 avg300=8.44 total=875022445", in microseconds.
std::optional<double> total_seconds(std::string_view text, std::string_view kind) {
  const std::string_view line = line_value(text, kind);
  const std::size_t at = line.find("total=");
  const auto total = at == std::string_view::npos ? std::nullopt : parse_number(line.substr(at + 6));
  if (!total) return std::nullopt;
  return static_cast<double>(*total) / 1e6;
}

}  // namespace

std::optional<Pressure> read_pressure(const Probe& probe, const std::string& path) {
  const auto text = probe.text(path);  // an error where it was disabled at start
  const auto some = text ? total_seconds(*text, "some ") : std::nullopt;
  if (!some) return std::nullopt;
  return Pressure{*some, total_seconds(*text, "full ").value_or(0)};
}

}  // namespace shardkit::system
