#include "bench/watch/watch_findings.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bench/watch/shortage.hpp"
#include "core/units.hpp"

namespace shardkit::bench {
namespace {

using WatchRule = FindingRule<WatchSummary>;

constexpr double kSlowAnswer = 0.010;     // seconds: the latency that slows a loader with a few reads in flight
constexpr double kSmallRead = 16 * 1024;  // bytes
constexpr double kManyReads = 100;        // per second: fewer may be small without harm
constexpr double kRetransmitted = 0.001;  // of the requests
constexpr double kSlowed = 0.1;           // of the time
constexpr double kThrottledAtAll = 0.01;  // of the periods
constexpr double kNodeBusy = 0.75;        // of the processors: the rest is too little for more processes
constexpr double kMuchUsed = 0.95;        // of the memory that a control group allows

std::string precise_percent(double share) { return fmt::format("{:.{}f} %", share * 100, share < 0.01 ? 2 : 0); }

/// A part of a total, such as "1.0 GiB of 8.0 GiB", if both are known and `counts` accepts their ratio.
std::optional<std::string> part_shown_if(bool (*counts)(double share), std::optional<std::uint64_t> part,
                                         std::optional<std::uint64_t> whole, std::string_view ending = "") {
  if (!part || whole.value_or(0) == 0) return std::nullopt;
  return shown_if(counts(static_cast<double>(*part) / static_cast<double>(*whole)),
                  fmt::format("{} of {}{}", format_size(*part), format_size(*whole), ending));
}

/// Loader processes that each keep a core busy beside idle cores: more of them would do more.
std::optional<std::string> saturated_beside_idle_cores(const WatchSummary& sum) {
  const double saturated = sum.saturated_processes.value().value_or(0);
  const double busy = sum.cpu_busy.value().value_or(1);
  const bool limited = sum.share(Shortage::cpu_limit) >= watch_rules::kNoticeable;
  const bool fed = sum.share(Shortage::compute) >= watch_rules::kMostly;
  return shown_if(saturated >= 1 && busy < kNodeBusy && !limited && !fed,
                  fmt::format("{:.1f} processes that each use a whole core, processors of the node {} busy", saturated,
                              precise_percent(busy)));
}

constexpr std::array kRules{
    WatchRule{"cpu_throttled", kWarning, "below 1 %", "fewer threads, or a higher CPU limit",
              "the kernel throttled the control group because it used up its CPU time",
              [](const WatchSummary& sum) {
                const double share = sum.throttled.value().value_or(0);
                return shown_if(share >= kThrottledAtAll, fmt::format("{} of the periods", precise_percent(share)));
              }},
    WatchRule{"dev_shm_low", kWarning, "at least 10 % free",
              "use a larger /dev/shm, fewer loader processes or a smaller prefetch_factor",
              "/dev/shm is nearly full: loaders that pass batches through it die with SIGBUS when it is full",
              [](const WatchSummary& sum) {
                return part_shown_if([](double left) { return left < watch_rules::kDevShmLeft; },
                                     sum.least_dev_shm_free, sum.dev_shm_size, " free");
              }},
    WatchRule{"job_stalled", kWarning, "no process waits most of the time", "watch it: iobench watch --pid {stalled}",
              "{measured} waited for storage at both ends of most intervals, whatever the node was busy with",
              [](const WatchSummary& sum) {
                const auto job = sum.stalled_job();
                return shown_if(job.has_value(),
                                job ? fmt::format("{} of {} (process {})", format_count(job->processes, "process"),
                                                  job->command, job->pid)
                                    : "");
              }},
    WatchRule{"gpu_idle", kHint, "80 % or more", "see the verdict", "GPUs in use ran kernels in {measured} of the time",
              [](const WatchSummary& sum) {
                const double busy = sum.gpu_busy.value().value_or(1);
                return shown_if(busy < watch_rules::kGpuBusy, precise_percent(busy));
              }},
    WatchRule{"gpu_slowdown", kWarning, "never",
              "check fans, intake air temperature and power supplies; nvidia-smi -q -d PERFORMANCE",
              "a GPU was throttled by heat or lack of power",
              [](const WatchSummary& sum) {
                const double share = sum.gpu_slowed.value().value_or(0);
                return shown_if(share >= kSlowed, fmt::format("in {} of the time", precise_percent(share)));
              }},
    WatchRule{"gpu_lost", kWarning, "a GPU that answers",
              "look for Xid errors in dmesg, then nvidia-smi --gpu-reset or restart the machine",
              "{measured} does not answer its driver: jobs that use it fail",
              [](const WatchSummary& sum) { return shown_if(!sum.lost_gpu.empty(), sum.lost_gpu); }},
    WatchRule{"gpu_link_degraded", kWarning, "the best link that GPU and slot support",
              "reseat the card, check risers and the firmware settings of the slot", "{measured}",
              [](const WatchSummary& sum) { return shown_if(!sum.degraded_link.empty(), sum.degraded_link); }},
    WatchRule{"disk_wait", kHint, "below 10 ms",
              "iostat -x shows other users of the disk; `iobench read --direct` measures it without them",
              "the disk answers a read after {measured} on average",
              [](const WatchSummary& sum) {
                const double wait = sum.disk_read_wait.value().value_or(0);
                return shown_if(wait > kSlowAnswer, format_duration(wait));
              }},
    WatchRule{"nfs_round_trip", kHint, "below 10 ms",
              "check the server's load and the network; `nfsiostat` shows the slow operations",
              "the NFS server answers after {measured} on average",
              [](const WatchSummary& sum) {
                const double wait = sum.nfs_round_trip.value().value_or(0);
                return shown_if(wait > kSlowAnswer, format_duration(wait));
              }},
    WatchRule{"small_reads", kHint, "16 KiB or more",
              "use shards instead of single files (shardctl convert), larger blocks or more read-ahead",
              "reads from the disk have only {measured} each, {reads:.0f} per second",
              [](const WatchSummary& sum) {
                const double size = sum.disk_read_size.value().value_or(kSmallRead);
                const bool many = sum.disk_reads.value().value_or(0) >= kManyReads;
                return shown_if(size < kSmallRead && many, format_size(static_cast<std::uint64_t>(size)));
              }},
    WatchRule{"nfs_retransmissions", kHint, "none",
              "ethtool -S and the switch's counters show whether packets are lost; the server may be overloaded",
              "{measured} of the NFS requests were retransmitted",
              [](const WatchSummary& sum) {
                const double share = sum.nfs_retransmitted.value().value_or(0);
                return shown_if(share > kRetransmitted, precise_percent(share));
              }},
    WatchRule{"memory_limit", kHint, "free memory for the page cache",
              "give the container more memory if the data would fit into it",
              "the control group is at its memory limit: its page cache is reclaimed all the time",
              [](const WatchSummary& sum) {
                return part_shown_if([](double used) { return used >= kMuchUsed; }, sum.most_group_memory,
                                     sum.memory_limit);
              }},
    WatchRule{"few_processes", kHint, "cores idle only if the GPUs are busy",
              "use more loader processes (num_workers), unless these processes are the training itself",
              "single processes of the job use a whole core each while other cores are idle",
              saturated_beside_idle_cores},
};

}  // namespace

std::vector<MachineFinding> watch_findings(const WatchSummary& summary) {
  std::vector<MachineFinding> findings;
  add_findings<WatchSummary>(kRules, summary, findings, fmt::arg("reads", summary.disk_reads.value().value_or(0)),
                             fmt::arg("stalled", summary.stalled_job().value_or(StalledRow()).pid));
  std::ranges::stable_sort(findings, {}, &MachineFinding::severity);
  return findings;
}

}  // namespace shardkit::bench
