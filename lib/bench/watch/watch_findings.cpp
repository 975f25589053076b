#include <algorithm>

#include <fmt/format.h>

#include "bench/watch/watch_summary.hpp"
#include "core/units.hpp"

namespace shardkit::bench {
namespace {

using Findings = std::vector<Finding>;
constexpr auto kWarning = FindingSeverity::warning;
constexpr auto kHint = FindingSeverity::hint;

constexpr double kSlowAnswer = 0.010;     // seconds: what a loader with a few reads under way notices
constexpr double kSmallRead = 16 * 1024;  // bytes
constexpr double kManyReads = 100;        // per second: fewer may be small without harm
constexpr double kRetransmitted = 0.001;  // of the requests
constexpr double kSlowed = 0.1;           // of the time
constexpr double kThrottledAtAll = 0.01;  // of the periods
constexpr double kNodeBusy = 0.75;        // of the processors: the rest is too little for more processes
constexpr double kMuchUsed = 0.95;        // of the memory that a control group allows

std::string percent(double share) { return fmt::format("{:.{}f} %", share * 100, share < 0.01 ? 2 : 0); }

void slow_answers(const WatchSummary& sum, Findings& findings) {
  const auto wait = sum.disk_read_wait.value();
  if (wait && *wait > kSlowAnswer) {
    findings.push_back({"disk_wait", kHint, format_duration(*wait), "below 10 ms",
                        "iostat -x shows who else uses it; `iobench read --direct` what it gives alone",
                        fmt::format("the disk answers a read after {} on average", format_duration(*wait))});
  }
  const auto round_trip = sum.nfs_round_trip.value();
  if (round_trip && *round_trip > kSlowAnswer) {
    findings.push_back({"nfs_round_trip", kHint, format_duration(*round_trip), "below 10 ms",
                        "the server's load, the network between; `nfsiostat` shows which operations",
                        fmt::format("the NFS server answers after {} on average", format_duration(*round_trip))});
  }
}

void small_reads(const WatchSummary& sum, Findings& findings) {
  const auto size = sum.disk_read_size.value();
  const auto reads = sum.disk_reads.value();
  if (!size || !reads || *size >= kSmallRead || *reads < kManyReads) return;
  const std::string is = format_size(static_cast<std::uint64_t>(*size));
  findings.push_back({"small_reads", kHint, is, "16 KiB and more",
                      "shards instead of single files (shardctl convert), larger blocks, more read-ahead",
                      fmt::format("the disk is asked for {} at a time, {:.0f} times a second", is, *reads)});
}

void retransmissions(const WatchSummary& sum, Findings& findings) {
  const auto share = sum.nfs_retransmitted.value();
  if (!share || *share <= kRetransmitted) return;
  findings.push_back({"nfs_retransmissions", kHint, percent(*share), "none",
                      "ethtool -S and the switch's counters: packets are lost, or the server is overloaded",
                      fmt::format("{} of the NFS requests were sent again", percent(*share))});
}

void throttling(const WatchSummary& sum, Findings& findings) {
  const auto share = sum.throttled.value();
  if (!share || *share < kThrottledAtAll) return;
  findings.push_back({"cpu_throttled", kWarning, fmt::format("{} of the periods", percent(*share)), "below 1 %",
                      "fewer threads, or a higher CPU limit",
                      "the kernel stopped the control group because it used up its CPU time"});
}

void group_memory(const WatchSummary& sum, Findings& findings) {
  if (!sum.memory_limit || !sum.most_group_memory) return;
  if (static_cast<double>(*sum.most_group_memory) < kMuchUsed * static_cast<double>(*sum.memory_limit)) return;
  findings.push_back({"memory_limit", kHint,
                      fmt::format("{} of {}", format_size(*sum.most_group_memory), format_size(*sum.memory_limit)),
                      "room for the page cache", "more memory for the container where the data would fit into it",
                      "the control group is at its memory limit: the page cache of its files is taken back all the "
                      "time"});
}

void dev_shm(const WatchSummary& sum, Findings& findings) {
  if (!sum.least_dev_shm_free || sum.dev_shm_size.value_or(0) == 0) return;
  const double left = static_cast<double>(*sum.least_dev_shm_free) / static_cast<double>(*sum.dev_shm_size);
  if (left >= watch_rules::kDevShmLeft) return;
  findings.push_back(
      {"dev_shm_low", kWarning,
       fmt::format("{} of {} free", format_size(*sum.least_dev_shm_free), format_size(*sum.dev_shm_size)),
       "a tenth and more free", "a larger /dev/shm, fewer loader processes, a smaller prefetch_factor",
       "/dev/shm is nearly full: loaders that pass batches through it die of SIGBUS when it is"});
}

void gpus(const WatchSummary& sum, Findings& findings) {
  const auto busy = sum.gpu_busy.value();
  if (busy && *busy < watch_rules::kGpuBusy) {
    findings.push_back({"gpu_idle", kHint, percent(*busy), "80 % and more", "what the verdict says",
                        fmt::format("GPUs in use ran kernels in {} of the time", percent(*busy))});
  }
  const auto slowed = sum.gpu_slowed.value();
  if (slowed && *slowed >= kSlowed) {
    findings.push_back({"gpu_slowdown", kWarning, fmt::format("in {} of the time", percent(*slowed)), "never",
                        "fans, the temperature of the air that comes in, power supplies; nvidia-smi -q -d PERFORMANCE",
                        "heat or lack of power slowed a GPU down"});
  }
  if (!sum.degraded_link.empty()) {
    findings.push_back({"gpu_link_degraded", kWarning, sum.degraded_link, "all that GPU and slot can do",
                        "reseat the card, look at risers and at the firmware's settings of the slot",
                        sum.degraded_link});
  }
}

/// Loader processes that each keep a core busy beside idle cores: more of them would do more.
void few_processes(const WatchSummary& sum, Findings& findings) {
  const auto saturated = sum.saturated_processes.value();
  const auto busy = sum.cpu_busy.value();
  if (!saturated || *saturated < 1 || !busy || *busy >= kNodeBusy) return;
  const bool limited = sum.share(Shortage::cpu_limit) >= watch_rules::kNoticeable;
  const bool fed = sum.share(Shortage::compute) >= watch_rules::kMostly;
  if (limited || fed) return;
  findings.push_back({"few_processes", kHint,
                      fmt::format("{:.1f} processes with a whole core each, the node's processors busy {}", *saturated,
                                  percent(*busy)),
                      "cores idle only when the GPUs are busy",
                      "more loader processes (num_workers), where these are loaders and not the training itself",
                      "processes of the job use up a core each while others are idle"});
}

}  // namespace

std::vector<Finding> watch_findings(const WatchSummary& summary) {
  Findings findings;
  throttling(summary, findings);
  dev_shm(summary, findings);
  gpus(summary, findings);
  slow_answers(summary, findings);
  small_reads(summary, findings);
  retransmissions(summary, findings);
  group_memory(summary, findings);
  few_processes(summary, findings);
  std::ranges::stable_sort(findings, {}, &Finding::severity);
  return findings;
}

}  // namespace shardkit::bench
