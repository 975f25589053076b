#include "system/limits.hpp"

#include <algorithm>
#include <limits>
#include <thread>

#include <sys/resource.h>

#include "core/error.hpp"
#include "system/cgroup.hpp"
#include "system/memory.hpp"

namespace shardkit::system {
namespace {

unsigned affinity_threads(const Probe& probe) {
  const std::string status = probe.text("/proc/self/status").value_or("");
  const auto allowed = static_cast<unsigned>(parse_cpu_list(line_value(status, "Cpus_allowed_list:")).size());
  return std::max(1U, allowed != 0 ? allowed : std::thread::hardware_concurrency());
}

}  // namespace

unsigned usable_threads(const Probe& probe) {
  const unsigned affinity = affinity_threads(probe);
  const auto quota = read_cgroup_limits(probe).cpus;
  if (!quota || *quota >= affinity) return affinity;
  return std::max(1U, static_cast<unsigned>(*quota));
}

unsigned thread_count(std::optional<std::uint64_t> asked) {
  return asked ? static_cast<unsigned>(*asked) : usable_threads();
}

std::uint64_t usable_memory(const Probe& probe) {
  const auto memory = read_memory_use(probe);
  const std::uint64_t total = memory ? memory->total : std::numeric_limits<std::uint64_t>::max();
  return std::min(total, read_cgroup_limits(probe).memory_bytes.value_or(total));
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // fails nowhere that matters: the old limit then stays
}

unsigned usable_descriptors() {
  constexpr rlim_t most = 65536;
  constexpr rlim_t kept_back = 96;
  rlimit limit{};
  const rlim_t soft = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min(limit.rlim_cur, most) : 1024;
  return static_cast<unsigned>(std::max<rlim_t>(soft, kept_back + 32) - kept_back);
}

unsigned most_reads_in_flight(unsigned descriptors) {
  return std::clamp(usable_descriptors() / 2 / descriptors, 8U, 512U);
}

}  // namespace shardkit::system
