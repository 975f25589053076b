#include "system/numa_binding.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <functional>

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.hpp"
#include "system/memory.hpp"

namespace shardkit::system {
namespace {

constexpr std::size_t kBitsPerWord = sizeof(unsigned long) * CHAR_BIT;
constexpr std::size_t kCpuWords = 65536 / kBitsPerWord;
constexpr std::size_t kNodeWords = 4096 / kBitsPerWord;

void set_bit(std::vector<unsigned long>& mask, std::size_t bit) {
  if (bit / kBitsPerWord < mask.size()) mask[bit / kBitsPerWord] |= 1UL << (bit % kBitsPerWord);
}

cpu_set_t* as_cpu_set(std::vector<unsigned long>& mask) { return reinterpret_cast<cpu_set_t*>(mask.data()); }

/// Of the calling thread alone.
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
    const std::uint64_t distance = i < distances.size() ? parse_number(distances[i]).value_or(0) : 0;
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
    refuse(node, "this process may use none of its processors");
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
