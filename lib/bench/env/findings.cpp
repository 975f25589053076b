#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/env/env.hpp"
#include "core/units.hpp"

namespace shardkit::bench {

std::vector<Finding> find_findings(const Environment& environment, const std::optional<LoaderJob>& job) {
  std::vector<Finding> findings;
  judge_limits(environment, job, findings);
  judge_storage(environment, findings);
  judge_devices(environment, findings);
  std::ranges::stable_sort(findings, {}, &Finding::severity);
  return findings;
}

namespace {

using Findings = std::vector<Finding>;
using Rule = FindingRule<Environment>;

void cpu_limit(const Environment& environment, Findings& findings) {
  const std::uint64_t visible = environment.cpu.affinity;
  if (!environment.cpu_limit || *environment.cpu_limit >= static_cast<double>(visible)) return;
  findings.push_back(
      {"cpu_limit", kWarning, fmt::format("{} processors visible, {:.2f} allowed", visible, *environment.cpu_limit),
       "as many threads as cores are allowed",
       fmt::format(
           "set num_workers and OMP_NUM_THREADS explicitly, {} in total, or raise the CPU limit of the container",
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
                      "fine if a scheduler did it; otherwise check taskset, numactl and cpuset",
                      fmt::format("this process may run on {} of {} processors ({}), but os.cpu_count() reports {}",
                                  cpu.affinity, cpu.processors, cpu.affinity_list, cpu.processors)});
}

/// More processes than cores help while some of them wait for storage, which only a measurement shows.
void workers(const Environment& environment, const std::optional<LoaderJob>& job, Findings& findings) {
  if (!job || job->processes() <= environment.usable_threads) return;
  findings.push_back(
      {"workers_above_cores", kHint,
       fmt::format("{} loader processes, {}", job->processes(), format_count(environment.usable_threads, "core")),
       "as many loader processes as `iobench run` finds useful",
       "use the number that `iobench run` prints for the data",
       fmt::format("{} loader processes share {}: that helps only as far as they wait for storage", job->processes(),
                   format_count(environment.usable_threads, "core"))});
}

double throttled_share(const Environment& environment) {
  const std::uint64_t periods = environment.control_group.periods.value_or(0);
  return periods == 0 ? 0 : static_cast<double>(environment.throttled_periods) / static_cast<double>(periods);
}

/// "powersave" pins the lowest clock only with drivers that leave the choice to governors; intel_pstate and amd-pstate
/// in active mode choose by load under that name (Documentation/admin-guide/pm).
bool chooses_clock(const system::CpuFacts& cpu) {
  return cpu.frequency_driver == "intel_pstate" || cpu.frequency_driver == "amd-pstate-epp" ||
         cpu.frequency_driver == "amd_pstate_epp";
}

constexpr const char* kSetPerformance = "cpupower frequency-set -g performance (root, on the host)";

constexpr const char* kRaiseLockedMemory =
    "ulimit -l unlimited, LimitMEMLOCK= of systemd, --ulimit memlock=-1 of Docker";

bool uses_rdma(const Environment& environment) {
  return std::ranges::find(environment.rdma, "ACTIVE", &system::RdmaPort::state) != environment.rdma.end();
}

/// Registered buffers of io_uring and all memory of RDMA count against it.
std::optional<std::string> little_locked_memory(const system::KernelFacts& kernel) {
  constexpr std::uint64_t kLittle = std::uint64_t{64} << 20U;
  const std::uint64_t limit = kernel.locked_memory.value_or(kLittle);
  return shown_if(!kernel.may_lock && limit < kLittle, format_size(limit));
}

constexpr std::array kLimitRules{
    Rule{"cpu_throttled", kWarning, "below 1 %", "fewer threads, or a higher CPU limit",
         "the kernel throttled this control group because it used up its CPU time",
         [](const Environment& e) {
           return shown_if(throttled_share(e) >= 0.01,
                           fmt::format("{} of {} periods ({:.1f} %)", format_count(e.throttled_periods),
                                       format_count(e.control_group.periods.value_or(0)), throttled_share(e) * 100));
         }},
    Rule{"governor_powersave", kWarning, "performance or schedutil", kSetPerformance,
         "the governor powersave keeps the processors at their lowest clock: decoding is slow",
         [](const Environment& e) {
           return shown_if(e.cpu.governor == "powersave" && !chooses_clock(e.cpu),
                           fmt::format("powersave ({})", e.cpu.frequency_driver));
         }},
    Rule{"energy_preference", kWarning, "performance or balance_performance", kSetPerformance,
         "the processors are set to save energy: they raise their clock late",
         [](const Environment& e) {
           return shown_if(chooses_clock(e.cpu) && e.cpu.energy_preference == "power", e.cpu.energy_preference);
         }},
    Rule{"energy_preference", kHint, "performance or balance_performance", kSetPerformance,
         "the processors are set to prefer saving energy",
         [](const Environment& e) {
           return shown_if(
               chooses_clock(e.cpu) && e.cpu.governor == "powersave" && e.cpu.energy_preference == "balance_power",
               e.cpu.energy_preference);
         }},
    Rule{"descriptors_low", kWarning, "65,536 or more",
         "raise the hard limit: ulimit -Hn, LimitNOFILE= of systemd, --ulimit nofile= of Docker",
         "the limit for open files is low: loaders with many workers and shards fail with EMFILE",
         [](const Environment& e) {
           constexpr std::uint64_t kFew = 4096;
           const std::uint64_t limit = e.kernel.descriptors.value_or(kFew);
           return shown_if(limit < kFew, format_count(limit, "open file"));
         }},
    Rule{"locked_memory_low", kWarning, "unlimited if RDMA is used", kRaiseLockedMemory,
         "RDMA (NCCL, GPUDirect) registers memory and fails at this limit",
         [](const Environment& e) { return uses_rdma(e) ? little_locked_memory(e.kernel) : std::nullopt; }},
    Rule{"locked_memory_low", kHint, "64 MiB or more", kRaiseLockedMemory,
         "the limit for locked memory is low: io_uring cannot register large buffers",
         [](const Environment& e) { return uses_rdma(e) ? std::nullopt : little_locked_memory(e.kernel); }},
    Rule{"io_uring_refused", kHint, "works, or disabled on purpose",
         "containers: use a seccomp profile that allows io_uring; otherwise pread is as fast with more threads",
         "io_uring is {measured}: only pread and mmap are available",
         [](const Environment& e) {
           const system::CallState state = e.kernel.io_uring;
           return shown_if(state == system::CallState::refused || state == system::CallState::disabled,
                           std::string(enum_name(state)));
         }},
    Rule{"machine_hidden", kHint, "readable",
         "also run it outside the restricted container to see what is missing here",
         "running in {measured}: limits, devices and mounts may differ from the host",
         [](const Environment& e) {
           return shown_if(!e.hidden.empty(), fmt::format("{} cannot be read", fmt::join(e.hidden, " and ")));
         }},
};

/// The command that mounts a /dev/shm of at least so many bytes.
std::string larger_shm(double bytes) {
  return fmt::format(
      "docker run --shm-size={:.0f}g or --ipc=host; Kubernetes: an emptyDir of medium Memory at /dev/shm, which counts "
      "towards the memory limit",
      std::max(std::ceil(bytes / (1U << 30U)), 1.0));
}

void shared_memory_of_job(const Environment& environment, const LoaderJob& job, Findings& findings) {
  const double need = job.shared_memory();
  const auto room = environment.dev_shm.value_or(0);
  if (need <= static_cast<double>(room)) return;
  const double used = static_cast<double>(environment.dev_shm_size.value_or(0)) - static_cast<double>(room);
  const std::string remedy = larger_shm(used + need) + "; or use fewer workers or a smaller prefetch";
  const std::string measured =
      environment.dev_shm ? fmt::format("{} free of {}", format_size(room), format_size(*environment.dev_shm_size))
                          : "no /dev/shm";
  findings.push_back(
      {"dev_shm_too_small", FindingSeverity::error, measured, format_rounded_size(need) + " or more", remedy,
       fmt::format(
           "{} x {} workers x {} batches x {} samples x {} need {} in /dev/shm: workers will die with a bus error",
           format_count(job.gpus, "GPU"), job.workers, job.prefetch, job.batch, format_rounded_size(job.sample_bytes),
           format_rounded_size(need))});
}

/// The default of Docker and containerd for a container.
void default_shared_memory(const Environment& environment, Findings& findings) {
  constexpr std::uint64_t kDefault = std::uint64_t{64} << 20U;
  constexpr std::uint64_t kMostUsual = std::uint64_t{16} << 30U;
  if (!environment.dev_shm_size || *environment.dev_shm_size > kDefault) return;
  const double usual = static_cast<double>(std::min(environment.usable_memory / 2, kMostUsual));
  findings.push_back({"dev_shm_small", kWarning, format_size(*environment.dev_shm_size),
                      "half of the memory; several GiB for a loader", larger_shm(usual),
                      fmt::format("/dev/shm has {}: one batch of 256 crops in float32 takes 147 MiB, and a DataLoader "
                                  "with workers dies with a bus error",
                                  format_size(*environment.dev_shm_size))});
}

void memory_high(const Environment& environment, Findings& findings) {
  const auto high = environment.control_group.memory_high;
  if (!high || *high >= environment.usable_memory) return;
  findings.push_back({"memory_high", kHint, format_size(*high), "memory.high unset, or near memory.max",
                      "raise memory.high; the page cache counts towards it",
                      fmt::format("above {} the control group is slowed down, well before its limit of {}",
                                  format_size(*high), format_size(environment.usable_memory))});
}

constexpr std::array kMemoryRules{
    Rule{"swapping", kWarning, "no swapping while jobs run",
         "find out what uses the memory; leave some for the page cache",
         "the machine has too little free memory and swaps: nothing stays in the page cache",
         [](const Environment& e) {
           const system::MemoryFacts& memory = e.memory;
           const std::uint64_t used = memory.swap_total - std::min(memory.swap_free, memory.swap_total);
           const bool much = used > memory.swap_total / 4 && used > (1U << 30U);
           return shown_if(much && memory.available <= memory.total / 5,
                           fmt::format("{} of {} swap used, {} memory available", format_size(used),
                                       format_size(memory.swap_total), format_size(memory.available)));
         }},
    // Reserved but unused, for example on a node that once ran databases.
    Rule{"huge_pages_idle", kWarning, "none reserved unless a program needs them", "vm.nr_hugepages=0",
         "memory reserved for huge pages is not available to programs or the page cache",
         [](const Environment& e) {
           const system::MemoryFacts& memory = e.memory;
           const bool idle = memory.huge_pages > 0 && memory.huge_pages_free == memory.huge_pages;
           return shown_if(idle && memory.huge_pages >= memory.total / 10,
                           format_size(memory.huge_pages) + " reserved, none of it used");
         }},
    Rule{"huge_page_defrag", kHint, "defrag=madvise", "echo madvise > /sys/kernel/mm/transparent_hugepage/defrag",
         "every allocation may wait for memory compaction: rare long stalls",
         [](const Environment& e) {
           return shown_if(e.memory.transparent_huge_pages == "always" && e.memory.huge_page_defrag == "always",
                           "enabled=always, defrag=always");
         }},
    Rule{"zone_reclaim", kWarning, "0", "vm.zone_reclaim_mode=0",
         "the kernel drops page cache of one NUMA node while another node has free memory",
         [](const Environment& e) {
           const std::uint64_t mode = e.memory.zone_reclaim_mode.value_or(0);
           return shown_if(mode != 0, fmt::to_string(mode));
         }},
};

}  // namespace

void judge_limits(const Environment& environment, const std::optional<LoaderJob>& job, Findings& findings) {
  workers(environment, job, findings);
  cpu_limit(environment, findings);
  cpu_affinity(environment, findings);
  add_findings<Environment>(kLimitRules, environment, findings);
  if (job) {
    shared_memory_of_job(environment, *job, findings);
  } else {
    default_shared_memory(environment, findings);
  }
  memory_high(environment, findings);
  add_findings<Environment>(kMemoryRules, environment, findings);
}

}  // namespace shardkit::bench
