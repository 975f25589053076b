#include "system/limits.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <thread>

#include <sys/resource.h>

#include "core/error.hpp"
#include "system/cgroup.hpp"
#include "system/sys_text.hpp"

namespace shardkit {
namespace {

/// The value of a "Name:   value" line of a /proc file; empty when there is none.
std::string_view status_value(std::string_view text, std::string_view name) {
  for (const auto line : split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    const std::size_t start = line.find_first_not_of(" \t", name.size());
    return start == std::string_view::npos ? std::string_view() : line.substr(start);
  }
  return {};
}

/// How many processors "0-3,8,10-11" names.
unsigned count_list(std::string_view list) {
  std::uint64_t count = 0;
  for (const auto range : split(list, ',')) {
    const auto ends = split(range, '-');
    const auto first = parse_number(ends.front());
    const auto last = parse_number(ends.back());
    if (first && last && *last >= *first) count += *last - *first + 1;
  }
  return static_cast<unsigned>(std::min<std::uint64_t>(count, std::numeric_limits<unsigned>::max()));
}

unsigned affinity_threads(const std::string& root) {
  const auto status = sys_text(root, "proc/self/status");
  const unsigned allowed = status ? count_list(status_value(*status, "Cpus_allowed_list:")) : 0;
  return std::max(1U, allowed != 0 ? allowed : std::thread::hardware_concurrency());
}

}  // namespace

unsigned usable_threads(const std::string& root) {
  const unsigned affinity = affinity_threads(root);
  const auto quota = read_cgroup_limits(root).cpus;
  if (!quota || *quota >= affinity) return affinity;
  return std::max(1U, static_cast<unsigned>(*quota));
}

unsigned thread_count(std::optional<std::uint64_t> asked) {
  if (!asked) return usable_threads();
  if (*asked == 0 || *asked > 4096) throw Error(ErrorCode::usage, "--threads must be between 1 and 4096");
  return static_cast<unsigned>(*asked);
}

std::uint64_t usable_memory(const std::string& root) {
  std::uint64_t total = std::numeric_limits<std::uint64_t>::max();
  if (const auto meminfo = sys_text(root, "proc/meminfo")) {
    const std::string_view value = status_value(*meminfo, "MemTotal:");  // "24684096 kB"
    if (const auto kibibytes = parse_number(value.substr(0, value.find(' ')))) total = *kibibytes * 1024;
  }
  return std::min(total, read_cgroup_limits(root).memory_bytes.value_or(total));
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

}  // namespace shardkit
