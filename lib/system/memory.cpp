#include "system/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/text.hpp"

namespace shardkit::system {
namespace {

constexpr const char* kHugePages = "/sys/kernel/mm/transparent_hugepage/";

/// The number of a line such as "MemTotal:  24684084 kB" in `unit` bytes; 0 when there is no such line.
std::uint64_t bytes_of(std::string_view text, std::string_view name, std::uint64_t unit) {
  const std::string_view value = line_value(text, name);
  return parse_count(value.substr(0, value.find(' ')), UINT64_MAX / std::max<std::uint64_t>(1, unit)).value_or(0) *
         unit;
}

std::uint64_t kibibytes(std::string_view text, std::string_view name) { return bytes_of(text, name, 1024); }

std::optional<std::uint64_t> unless_zero(std::optional<std::uint64_t> value) {
  return value.value_or(0) == 0 ? std::nullopt : value;
}

/// "some avg10=12.84 avg60=7.92 avg300=8.44 total=875022445", in microseconds.
std::optional<double> total_seconds(std::string_view text, std::string_view kind) {
  const std::string_view line = line_value(text, kind);
  const std::size_t at = line.find("total=");
  const auto total = at == std::string_view::npos ? std::nullopt : parse_count(line.substr(at + 6));
  if (!total) return std::nullopt;
  return static_cast<double>(*total) / 1e6;
}

std::optional<Pressure> read_pressure(const Probe& probe, const std::string& path) {
  const auto text = probe.text(path);  // an error if it was disabled at boot
  const auto some = text ? total_seconds(*text, "some ") : std::nullopt;
  if (!some) return std::nullopt;
  return Pressure{*some, total_seconds(*text, "full ").value_or(0)};
}

constexpr std::size_t kBitsPerWord = sizeof(unsigned long) * CHAR_BIT;
constexpr std::size_t kCpuWords = 65536 / kBitsPerWord;
constexpr std::size_t kNodeWords = 4096 / kBitsPerWord;

void set_bit(std::vector<unsigned long>& mask, std::size_t bit) {
  if (bit / kBitsPerWord < mask.size()) mask[bit / kBitsPerWord] |= 1UL << (bit % kBitsPerWord);
}

cpu_set_t* as_cpu_set(std::vector<unsigned long>& mask) { return reinterpret_cast<cpu_set_t*>(mask.data()); }

/// Only for the calling thread.
int set_cpus(std::vector<unsigned long>& mask) {
  return ::sched_setaffinity(0, mask.size() * sizeof(unsigned long), as_cpu_set(mask));
}

std::string node_file(std::uint64_t node, std::string_view name) {
  return fmt::format("/sys/devices/system/node/node{}/{}", node, name);
}

[[noreturn]] void refuse(std::uint64_t node, std::string_view why) {
  throw Error(ErrorCode::unsupported, fmt::format("cannot run on NUMA node {}: {}", node, why));
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
  facts.huge_pages = bytes_of(text, "HugePages_Total:", huge_page);
  facts.huge_pages_free = bytes_of(text, "HugePages_Free:", huge_page);
  facts.transparent_huge_pages = chosen_word(sys_word(probe, std::string(kHugePages) + "enabled"));
  facts.huge_page_defrag = chosen_word(sys_word(probe, std::string(kHugePages) + "defrag"));
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
  use.major_faults = parse_count(line_value(events, "pgmajfault "));
  const auto in = parse_count(line_value(events, "pswpin "));
  const auto out = parse_count(line_value(events, "pswpout "));
  if (in && out) use.swapped_pages = *in + *out;
  return use;
}

std::vector<NumaNode> read_numa_nodes(const Probe& probe) {
  const std::string all = "/sys/devices/system/node";
  std::vector<NumaNode> nodes;
  for (const std::string& name : probe.names(all)) {
    const auto number = name.starts_with("node") ? parse_count(name.substr(4)) : std::nullopt;
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

Pressures read_pressures(const Probe& probe, const std::string& before, const std::string& behind) {
  const auto of = [&](const char* resource) { return read_pressure(probe, before + resource + behind); };
  return {of("cpu"), of("io"), of("memory")};
}

std::vector<std::uint64_t> host_nodes(const Probe& probe) {
  std::vector<std::uint64_t> nodes;
  for (const NumaNode& node : read_numa_nodes(probe)) {
    if (!node.cpus.empty() && node.memory > 0) nodes.push_back(node.node);
  }
  return nodes;
}

std::optional<std::uint64_t> farthest_node(std::uint64_t node, const Probe& probe) {
  // One distance for each node that is online, in order.
  const std::vector<NumaNode> all = read_numa_nodes(probe);
  const std::string text = probe.text(node_file(node, "distance")).value_or("");
  const auto distances = split(text, ' ');
  const std::vector<std::uint64_t> hosts = host_nodes(probe);
  std::optional<std::uint64_t> farthest;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].node == node || std::find(hosts.begin(), hosts.end(), all[i].node) == hosts.end()) continue;
    const std::uint64_t distance = i < distances.size() ? parse_count(distances[i]).value_or(0) : 0;
    if (farthest && distance <= most) continue;
    farthest = all[i].node;
    most = distance;
  }
  return farthest;
}

NumaBinding::NumaBinding(std::uint64_t node, const Probe& probe) : old_cpus_(kCpuWords, 0), old_nodes_(kNodeWords, 0) {
  if (::sched_getaffinity(0, kCpuWords * sizeof(unsigned long), as_cpu_set(old_cpus_)) != 0) {
    refuse(node, std::strerror(errno));
  }
  Mask cpus(kCpuWords, 0);
  for (const unsigned cpu : parse_cpu_list(sys_word(probe, node_file(node, "cpulist")))) set_bit(cpus, cpu);
  std::transform(cpus.begin(), cpus.end(), old_cpus_.begin(), cpus.begin(), std::bit_and<>());
  if (std::all_of(cpus.begin(), cpus.end(), [](unsigned long word) { return word == 0; })) {
    refuse(node, "none of the processors is available to this process");
  }
  if (set_cpus(cpus) != 0) refuse(node, std::strerror(errno));

  Mask nodes(kNodeWords, 0);
  set_bit(nodes, node);
  const std::size_t bits = kNodeWords * kBitsPerWord;
  binds_memory_ = ::syscall(SYS_get_mempolicy, &old_policy_, old_nodes_.data(), bits, nullptr, 0) == 0 &&
                  ::syscall(SYS_set_mempolicy, MPOL_BIND, nodes.data(), bits) == 0;
}

NumaBinding::~NumaBinding() {
  if (binds_memory_) ::syscall(SYS_set_mempolicy, old_policy_, old_nodes_.data(), kNodeWords * kBitsPerWord);
  set_cpus(old_cpus_);
}

}  // namespace shardkit::system
