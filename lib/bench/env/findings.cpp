#include "bench/env/findings.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.hpp"

namespace shardkit::bench {

std::vector<Finding> find_findings(const Environment& environment, const std::optional<LoaderJob>& job) {
  std::vector<Finding> findings;
  judge_limits(environment, job, findings);
  judge_memory(environment, job, findings);
  judge_storage(environment, findings);
  judge_remote_storage(environment, findings);
  judge_devices(environment, findings);
  judge_gpus(environment, findings);
  std::ranges::stable_sort(findings, {}, &Finding::severity);
  return findings;
}

namespace {

using Findings = std::vector<Finding>;
constexpr auto kWarning = FindingSeverity::warning;
constexpr auto kHint = FindingSeverity::hint;

void cpu_limit(const Environment& environment, Findings& findings) {
  const std::uint64_t visible = environment.cpu.affinity;
  if (!environment.cpu_limit || *environment.cpu_limit >= static_cast<double>(visible)) return;
  findings.push_back(
      {"cpu_limit", kWarning, fmt::format("{} processors visible, {:.2f} allowed", visible, *environment.cpu_limit),
       "as many threads as cores are allowed",
       fmt::format("set num_workers and OMP_NUM_THREADS by hand, {} in all, or raise the CPU limit of the container",
                   format_count(environment.usable_threads, "thread")),
       fmt::format("the control group allows {:.2f} of {} visible processors: programs that count processors start "
                   "too many threads and are throttled",
                   *environment.cpu_limit, visible)});
}

/// Programs that ask for the number of processors instead of the affinity mask are wrong here.
void cpu_affinity(const Environment& environment, Findings& findings) {
  const system::CpuFacts& cpu = environment.cpu;
  if (cpu.affinity == 0 || cpu.affinity >= cpu.processors) return;
  findings.push_back({"cpu_affinity", kHint, fmt::format("{} of {} processors", cpu.affinity, cpu.processors),
                      "all processors, or those of one NUMA node on purpose",
                      "fine when a scheduler did it; else look for taskset, numactl or a cpuset",
                      fmt::format("this process may run on {} of {} processors ({}), but os.cpu_count() says {}",
                                  cpu.affinity, cpu.processors, cpu.affinity_list, cpu.processors)});
}

void workers(const Environment& environment, const std::optional<LoaderJob>& job, Findings& findings) {
  if (!job || job->processes() <= environment.usable_threads) return;
  findings.push_back(
      {"workers_above_cores", kWarning,
       fmt::format("{} loader processes, {}", job->processes(), format_count(environment.usable_threads, "core")),
       "at most as many loader processes as cores",
       fmt::format("num_workers={} for each of {}", std::max<std::uint64_t>(1, environment.usable_threads / job->gpus),
                   format_count(job->gpus, "GPU")),
       fmt::format("{} loader processes share {}: more of them add memory, not speed", job->processes(),
                   format_count(environment.usable_threads, "core"))});
}

void throttling(const Environment& environment, Findings& findings) {
  constexpr double kMuch = 0.01;
  const std::uint64_t periods = environment.control_group.periods.value_or(0);
  if (periods == 0) return;
  const double share = static_cast<double>(environment.throttled_periods) / static_cast<double>(periods);
  if (share < kMuch) return;
  findings.push_back({"cpu_throttled", kWarning,
                      fmt::format("{} of {} periods ({:.1f} %)", format_count(environment.throttled_periods),
                                  format_count(periods), share * 100),
                      "below 1 %", "fewer threads, or a higher CPU limit",
                      "the kernel has stopped this control group because it used up its CPU time"});
}

/// "powersave" pins the lowest clock only with drivers that leave the choice to governors; intel_pstate and amd-pstate
/// in active mode choose by load under that name (Documentation/admin-guide/pm).
void clock_rule(const Environment& environment, Findings& findings) {
  const system::CpuFacts& cpu = environment.cpu;
  const bool chooses = cpu.frequency_driver == "intel_pstate" || cpu.frequency_driver == "amd-pstate-epp" ||
                       cpu.frequency_driver == "amd_pstate_epp";
  const char* remedy = "cpupower frequency-set -g performance (root, on the host)";
  if (cpu.governor == "powersave" && !chooses) {
    findings.push_back({"governor_powersave", kWarning, fmt::format("powersave ({})", cpu.frequency_driver),
                        "performance or schedutil", remedy,
                        "the governor powersave keeps the processors at their lowest clock: decoding is slow"});
  }
  if (chooses && cpu.energy_preference == "power") {
    findings.push_back({"energy_preference", kWarning, cpu.energy_preference, "performance or balance_performance",
                        remedy, "the processors are told to save energy: they raise their clock late"});
  }
  if (chooses && cpu.governor == "powersave" && cpu.energy_preference == "balance_power") {
    findings.push_back({"energy_preference", kHint, cpu.energy_preference, "performance or balance_performance", remedy,
                        "the processors are told to lean towards saving energy"});
  }
}

void descriptors(const Environment& environment, Findings& findings) {
  constexpr std::uint64_t kFew = 4096;
  const auto limit = environment.kernel.descriptors;
  if (!limit || *limit >= kFew) return;
  findings.push_back({"descriptors_low", kWarning, format_count(*limit, "open file"), "65,536 or more",
                      "raise the hard limit: ulimit -Hn, LimitNOFILE= of systemd, --ulimit nofile= of Docker",
                      "few files may be open at a time: loaders with many workers and shards fail with EMFILE"});
}

/// Registered buffers of io_uring and all memory of RDMA count against it.
void locked_memory(const Environment& environment, Findings& findings) {
  constexpr std::uint64_t kLittle = std::uint64_t{64} << 20U;
  const system::KernelFacts& kernel = environment.kernel;
  if (kernel.may_lock || !kernel.locked_memory || *kernel.locked_memory >= kLittle) return;
  bool rdma = false;
  for (const system::RdmaPort& port : environment.rdma) rdma = rdma || port.state == "ACTIVE";
  findings.push_back({"locked_memory_low", rdma ? kWarning : kHint, format_size(*kernel.locked_memory),
                      rdma ? "unlimited where RDMA is used" : "64 MiB or more",
                      "ulimit -l unlimited, LimitMEMLOCK= of systemd, --ulimit memlock=-1 of Docker",
                      rdma ? "RDMA (NCCL, GPUDirect) registers memory and fails at this limit"
                           : "little memory may be locked: io_uring cannot register large buffers"});
}

void io_uring(const Environment& environment, Findings& findings) {
  const std::string& state = environment.kernel.io_uring;
  if (state == "works" || state == "not in this kernel" || state.empty()) return;
  findings.push_back({"io_uring_refused", kHint, state, "works, or off on purpose",
                      "containers: a seccomp profile that allows io_uring; else pread does as well with more threads",
                      fmt::format("io_uring is {}: only pread and mmap can read", state)});
}

void masked(const Environment& environment, Findings& findings) {
  if (environment.hidden.empty()) return;
  const std::string places = fmt::format("{}", fmt::join(environment.hidden, " and "));
  findings.push_back(
      {"machine_hidden", kHint, places + " cannot be read", "readable",
       "run it outside of the restricted container too, for what stays unknown here",
       fmt::format("{} cannot be read here: limits, devices and mounts may be other than they seem", places)});
}

}  // namespace

void judge_limits(const Environment& environment, const std::optional<LoaderJob>& job, Findings& findings) {
  workers(environment, job, findings);
  cpu_limit(environment, findings);
  throttling(environment, findings);
  clock_rule(environment, findings);
  descriptors(environment, findings);
  locked_memory(environment, findings);
  cpu_affinity(environment, findings);
  io_uring(environment, findings);
  masked(environment, findings);
}

namespace {

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
  const system::MemoryFacts& memory = environment.memory;
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
  const auto high = environment.control_group.memory_high;
  if (!high || *high >= environment.usable_memory) return;
  findings.push_back({"memory_high", kHint, format_size(*high), "memory.high unset, or near memory.max",
                      "raise memory.high; page cache counts against it",
                      fmt::format("above {} the control group is slowed down, well before its limit of {}",
                                  format_size(*high), format_size(environment.usable_memory))});
}

/// Set aside and used by nobody, such as on a node that once ran databases.
void idle_huge_pages(const Environment& environment, Findings& findings) {
  const system::MemoryFacts& memory = environment.memory;
  const bool idle = memory.huge_pages > 0 && memory.huge_pages_free == memory.huge_pages;
  if (!idle || memory.huge_pages < memory.total / 10) return;
  findings.push_back({"huge_pages_idle", kWarning, format_size(memory.huge_pages) + " reserved, none of it used",
                      "none reserved unless a program asks for them", "vm.nr_hugepages=0",
                      "huge pages hold memory that neither programs nor the page cache can use"});
}

void huge_page_stalls(const Environment& environment, Findings& findings) {
  const system::MemoryFacts& memory = environment.memory;
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

}  // namespace shardkit::bench
