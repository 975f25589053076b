#include "bench/watch/watch_verdict.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/units.hpp"

namespace shardkit {
namespace {

std::string percent(double share) { return fmt::format("{:.0f} %", share * 100); }

Shortage worst_shortage(const WatchSummary& summary) {
  using namespace watch_rules;
  Shortage worst = Shortage::nothing;
  double most = 0;
  for (std::size_t i = 0; i < EnumNames<Shortage>::names.size(); ++i) {
    const auto shortage = static_cast<Shortage>(i);
    if (shortage == Shortage::nothing || shortage == Shortage::compute) continue;
    if (summary.share(shortage) <= most) continue;
    worst = shortage;
    most = summary.share(shortage);
  }
  if (most >= kNoticeable) return worst;
  return summary.share(Shortage::compute) >= kMostly ? Shortage::compute : Shortage::nothing;
}

std::string_view thing(Shortage shortage) {
  switch (shortage) {
    case Shortage::cpu_limit:
      return "the CPU limit";
    case Shortage::memory:
      return "memory";
    case Shortage::cores:
      return "processor cores are";
    case Shortage::gpu_link:
      return "the link from host to GPU";
    case Shortage::storage:
      return "storage";
    case Shortage::dev_shm:
      return "room in /dev/shm";
    case Shortage::nothing:
    case Shortage::compute:
      break;
  }
  return "nothing";
}

/// The job was not fed, and nothing that the node tells of says why.
std::string idle_text(const WatchSummary& summary) {
  const auto busy = summary.gpu_busy.value();
  if (!busy) return "nothing of this node is short, as far as it tells";
  return fmt::format("nothing of this node is short, as far as it tells, but GPUs are busy {} of the time alone",
                     percent(*busy));
}

std::string verdict_text(const WatchSummary& summary, Shortage shortage) {
  if (summary.intervals == 0) return "nothing was seen: the watch ended before its first interval";
  if (shortage == Shortage::compute) {
    return fmt::format("nothing is short: GPUs are busy {} of the time", percent(summary.gpu_busy.value().value_or(0)));
  }
  if (shortage == Shortage::nothing) return idle_text(summary);
  const std::string_view subject = thing(shortage);
  return fmt::format("{}{} short in {} of the time", subject, subject.ends_with(" are") ? "" : " is",
                     percent(summary.share(shortage)));
}

/// By what the data lies on; a local disk needs no local disk.
std::string_view faster_reads(const WatchTarget& target) {
  if (target.nfs_mount)
    return "more connections (nconnect) and read-ahead, or the data on a local disk (shardctl stage)";
  if (has_remote_cache(target.storage.storage_class)) {
    return "more reads at a time (num_workers), or the data on a local disk (shardctl stage)";
  }
  if (!target.storage.device.empty()) {
    return "more and larger reads at a time (num_workers, shards by shardctl convert), or a faster disk";
  }
  return "more reads at a time (num_workers), faster storage, or the data on a local disk (shardctl stage)";
}

std::string storage_remedy(const WatchTarget& target, const WatchSummary& summary) {
  const std::string path = target.path.empty() ? "PATH" : target.path;
  const double read = summary.disk_read_bytes.value().value_or(0) + summary.nfs_read_bytes.value().value_or(0);
  const double written = summary.disk_written_bytes.value().value_or(0);
  if (written > read && written > 0) {
    return fmt::format(
        "more is written than read: write checkpoints behind the training, less often or to another disk (`iobench "
        "checkpoint {}` measures it)",
        path);
  }
  std::string text(faster_reads(target));
  text += fmt::format("; `iobench read {} --cache cold` says what it can give, `iobench env {}` how it is set up", path,
                      path);
  if (!target.path.empty()) return text;
  return text + "; with PATH watch tells of its disk or mount too";
}

/// Cores of the node; both means are over the same intervals.
std::optional<double> node_cores(const WatchSummary& summary) {
  const double busy = summary.cpu_busy.value().value_or(0);
  const auto cores = summary.busy_cores.value();
  return cores && busy > 0 ? std::optional(*cores / busy) : std::nullopt;
}

/// Whether the job may not use what there is, is its own rival for cores, or others are.
std::string cores_remedy(const WatchSummary& summary) {
  const auto all = summary.busy_cores.value();
  const auto own = summary.cores.value();
  const auto there = node_cores(summary);
  if (own && there && summary.processors) {
    const auto allowed = static_cast<double>(*summary.processors);
    if (allowed < std::round(*there) && *own >= watch_rules::kCoresBusy * allowed) {
      return fmt::format(
          "the job may run on {} of {:.0f} processors and uses them all: widen that (taskset, the "
          "container's cpuset, Slurm's --cpus-per-task)",
          *summary.processors, *there);
    }
  }
  if (all && own && *own < *all / 2) {
    return fmt::format(
        "other processes have {:.1f} of the {:.1f} cores in use: end or move them, or give the job cores "
        "of its own",
        *all - *own, *all);
  }
  return "more cores, smaller images (shardctl convert --resize), decoding on the GPU; `iobench decode` says what a "
         "core "
         "gives";
}

std::string limit_remedy(const WatchSummary& summary) {
  const std::string limit = summary.cpu_limit ? fmt::format(" above {:.2f} cores", *summary.cpu_limit) : "";
  return fmt::format(
      "raise the CPU limit of the container{}, or start fewer threads (OMP_NUM_THREADS, num_workers): those beyond it "
      "are stopped for the rest of each period",
      limit);
}

std::string nothing_remedy(const WatchSummary& summary) {
  if (!summary.gpu_busy.value()) return {};
  return "more loader processes (num_workers), a larger prefetch_factor and pin_memory; then look at what a node does "
         "not tell: one slow thread, a store behind the network, waiting for other nodes";
}

std::string remedy_for(const WatchTarget& target, const WatchSummary& summary, Shortage shortage) {
  switch (shortage) {
    case Shortage::cpu_limit:
      return limit_remedy(summary);
    case Shortage::memory:
      return "fewer loader processes or a smaller prefetch_factor, more memory for the container, or less of it in "
             "/dev/shm and tmpfs";
    case Shortage::cores:
      return cores_remedy(summary);
    case Shortage::gpu_link:
      return "8-bit values over the link, normalised on the GPU; `iobench transfer` says what the link gives";
    case Shortage::storage:
      return storage_remedy(target, summary);
    case Shortage::dev_shm:
      return "a larger one (--shm-size of Docker, an emptyDir with medium Memory in Kubernetes), fewer loader "
             "processes "
             "or a smaller prefetch_factor; files of dead jobs stay there until they are removed";
    case Shortage::nothing:
      return summary.intervals > 0 ? nothing_remedy(summary) : "";
    case Shortage::compute:
      break;
  }
  return {};
}

}  // namespace

WatchVerdict judge_watch(const WatchTarget& target, const WatchSummary& summary) {
  WatchVerdict verdict;
  verdict.short_of = worst_shortage(summary);
  if (summary.intervals > 0) verdict.share = summary.share(verdict.short_of);
  verdict.text = verdict_text(summary, verdict.short_of);
  verdict.evidence = watch_evidence(target, summary, verdict.short_of);
  verdict.remedy = remedy_for(target, summary, verdict.short_of);
  return verdict;
}

}  // namespace shardkit
