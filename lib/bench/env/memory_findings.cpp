#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/env/findings.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

using Findings = std::vector<Finding>;
constexpr auto kWarning = FindingSeverity::warning;
constexpr auto kHint = FindingSeverity::hint;
constexpr double kGiB = 1U << 30U;

/// What mounts a /dev/shm of at least so many bytes.
std::string larger_shm(double bytes) {
  return fmt::format(
      "docker run --shm-size={:.0f}g or --ipc=host; Kubernetes: an emptyDir of medium Memory at /dev/shm",
      std::max(std::ceil(bytes / kGiB), 1.0));
}

void shared_memory_of_job(const Environment& environment, const LoaderJob& job, Findings& findings) {
  const double need = job.shared_memory();
  const auto room = environment.dev_shm.value_or(0);
  if (need <= static_cast<double>(room)) return;
  const double used = static_cast<double>(environment.dev_shm_size.value_or(0)) - static_cast<double>(room);
  const std::string remedy = larger_shm(used + need) + "; or fewer workers, or fewer batches ahead";
  const std::string measured =
      environment.dev_shm ? fmt::format("{} free of {}", format_size(room), format_size(*environment.dev_shm_size))
                          : "no /dev/shm";
  findings.push_back({"dev_shm_too_small", FindingSeverity::error, measured, format_rounded_size(need) + " or more",
                      remedy,
                      fmt::format("{} x {} workers x {} batches x {} samples x {} need {} in /dev/shm: workers "
                                  "die of a bus error",
                                  format_count(job.gpus, "GPU"), job.workers, job.prefetch, job.batch,
                                  format_rounded_size(job.sample_bytes), format_rounded_size(need))});
}

/// What Docker and containerd give a container that asks for nothing.
void default_shared_memory(const Environment& environment, Findings& findings) {
  constexpr std::uint64_t kDefault = std::uint64_t{64} << 20U;
  if (!environment.dev_shm_size || *environment.dev_shm_size > kDefault) return;
  const double usual = std::min(static_cast<double>(environment.usable_memory) / 2, 16 * kGiB);
  findings.push_back({"dev_shm_small", kWarning, format_size(*environment.dev_shm_size),
                      "half of the memory; several GiB for a loader", larger_shm(usual),
                      fmt::format("/dev/shm has {}: one batch of 256 crops in float32 takes 147 MiB, and a "
                                  "DataLoader with workers dies of a bus error",
                                  format_size(*environment.dev_shm_size))});
}

void swapping(const Environment& environment, Findings& findings) {
  const MemoryFacts& memory = environment.memory;
  const std::uint64_t used = memory.swap_total - std::min(memory.swap_free, memory.swap_total);
  const bool much = used > memory.swap_total / 4 && used > (1U << 30U);
  if (!much || memory.available > memory.total / 5) return;
  findings.push_back({"swapping", kWarning,
                      fmt::format("{} of {} swap used, {} memory available", format_size(used),
                                  format_size(memory.swap_total), format_size(memory.available)),
                      "no swap in use while jobs run", "find what fills the memory; give the page cache room",
                      "the machine is short of memory and swaps: nothing stays in the page cache"});
}

void memory_high(const Environment& environment, Findings& findings) {
  const auto high = environment.control_group.memory_high_bytes;
  if (!high || *high >= environment.usable_memory) return;
  findings.push_back({"memory_high", kHint, format_size(*high), "memory.high unset, or near memory.max",
                      "raise memory.high; page cache counts against it",
                      fmt::format("above {} the control group is slowed down, well before its limit of {}",
                                  format_size(*high), format_size(environment.usable_memory))});
}

/// Set aside and used by nobody, such as on a node that once ran databases.
void idle_huge_pages(const Environment& environment, Findings& findings) {
  const MemoryFacts& memory = environment.memory;
  const bool idle = memory.huge_pages > 0 && memory.huge_pages_free == memory.huge_pages;
  if (!idle || memory.huge_pages < memory.total / 10) return;
  findings.push_back({"huge_pages_idle", kWarning, format_size(memory.huge_pages) + " reserved, none of it used",
                      "none reserved unless a program asks for them", "vm.nr_hugepages=0",
                      "huge pages hold memory that neither programs nor the page cache can use"});
}

void huge_page_stalls(const Environment& environment, Findings& findings) {
  const MemoryFacts& memory = environment.memory;
  if (memory.transparent_huge_pages != "always" || memory.huge_page_defrag != "always") return;
  findings.push_back({"huge_page_defrag", kHint, "enabled=always, defrag=always", "defrag=madvise",
                      "echo madvise > /sys/kernel/mm/transparent_hugepage/defrag",
                      "every allocation may wait for memory to be moved together: rare long stalls"});
}

void zone_reclaim(const Environment& environment, Findings& findings) {
  if (environment.memory.zone_reclaim_mode.value_or(0) == 0) return;
  findings.push_back({"zone_reclaim", kWarning, fmt::format("{}", *environment.memory.zone_reclaim_mode), "0",
                      "vm.zone_reclaim_mode=0",
                      "the kernel drops page cache of one NUMA node while the other has room"});
}

}  // namespace

void judge_memory(const Environment& environment, const std::optional<LoaderJob>& job, Findings& findings) {
  if (job) {
    shared_memory_of_job(environment, *job, findings);
  } else {
    default_shared_memory(environment, findings);
  }
  swapping(environment, findings);
  memory_high(environment, findings);
  idle_huge_pages(environment, findings);
  huge_page_stalls(environment, findings);
  zone_reclaim(environment, findings);
}

}  // namespace shardkit
