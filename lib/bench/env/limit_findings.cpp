#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/env/findings.hpp"
#include "core/units.hpp"

namespace shardkit {
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
  const CpuFacts& cpu = environment.cpu;
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
  const CgroupLimits& group = environment.control_group;
  if (group.periods == 0) return;
  const double share = static_cast<double>(group.throttled_periods) / static_cast<double>(group.periods);
  if (share < kMuch) return;
  findings.push_back({"cpu_throttled", kWarning,
                      fmt::format("{} of {} periods ({:.1f} %)", format_count(group.throttled_periods),
                                  format_count(group.periods), share * 100),
                      "below 1 %", "fewer threads, or a higher CPU limit",
                      "the kernel has stopped this control group because it used up its CPU time"});
}

/// "powersave" pins the lowest clock only with drivers that leave the choice to governors; intel_pstate and amd-pstate
/// in active mode choose by load under that name (Documentation/admin-guide/pm).
void clock_rule(const Environment& environment, Findings& findings) {
  const CpuFacts& cpu = environment.cpu;
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
  const KernelFacts& kernel = environment.kernel;
  if (kernel.may_lock || !kernel.locked_memory || *kernel.locked_memory >= kLittle) return;
  bool rdma = false;
  for (const RdmaPort& port : environment.rdma) rdma = rdma || port.state == "ACTIVE";
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

}  // namespace shardkit
