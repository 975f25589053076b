#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/watch/watch_summary.hpp"
#include "core/units.hpp"

namespace shardkit::bench {
namespace {

std::string percent(double share) { return fmt::format("{:.0f} %", share * 100); }

Shortage worst_shortage(const WatchSummary& summary) {
  using namespace watch_rules;
  Shortage worst = Shortage::nothing;
  double most = 0;
  for (std::size_t i = 0; i < kEnumNames<Shortage>.size(); ++i) {
    const auto shortage = static_cast<Shortage>(i);
    if (shortage == Shortage::nothing || shortage == Shortage::compute) continue;
    if (summary.share(shortage) <= most) continue;
    worst = shortage;
    most = summary.share(shortage);
  }
  if (most >= kNoticeable) return worst;
  return summary.share(Shortage::compute) >= kMostly ? Shortage::compute : Shortage::nothing;
}

/// By Shortage.
constexpr std::array<std::string_view, kEnumNames<Shortage>.size()> kThings{
    "nothing", "nothing",         "the CPU limit", "memory", "processor cores are", "the link from host to GPU",
    "storage", "room in /dev/shm"};

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
  const std::string_view subject = kThings[static_cast<std::size_t>(shortage)];
  return fmt::format("{}{} short in {} of the time", subject, subject.ends_with(" are") ? "" : " is",
                     percent(summary.share(shortage)));
}

/// By what the data lies on; a local disk needs no local disk.
std::string_view faster_reads(const WatchTarget& target) {
  if (target.nfs_mount)
    return "more connections (nconnect) and read-ahead, or the data on a local disk (shardctl stage)";
  if (system::has_remote_cache(target.storage.storage_class)) {
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

namespace {

/// "I/O pressure 64 %, all tasks 58 %": facts of one thing, those that are told.
class EvidenceLine {
 public:
  explicit EvidenceLine(std::string subject) : subject_(std::move(subject)) {}

  EvidenceLine& add(const std::optional<double>& value, fmt::format_string<const double&> format) {
    if (value) facts_.push_back(fmt::format(format, *value));
    return *this;
  }
  EvidenceLine& share(const std::optional<double>& value, std::string_view what) {
    if (value) facts_.push_back(fmt::format("{} {:.0f} %", what, *value * 100));
    return *this;
  }
  EvidenceLine& rate(const std::optional<double>& bytes_per_second, std::string_view what) {
    if (bytes_per_second) facts_.push_back(fmt::format("{} {}", what, format_rate(*bytes_per_second)));
    return *this;
  }
  EvidenceLine& time(const std::optional<double>& seconds, std::string_view what) {
    if (seconds) facts_.push_back(fmt::format("{} {}", what, format_duration(*seconds)));
    return *this;
  }
  EvidenceLine& size(const std::optional<std::uint64_t>& bytes, std::string_view what) {
    if (bytes) facts_.push_back(fmt::format("{} {}", what, format_size(*bytes)));
    return *this;
  }
  /// Nothing when no fact is told.
  void into(std::vector<std::string>& lines) const {
    if (!facts_.empty()) lines.push_back(fmt::format("{}: {}", subject_, fmt::join(facts_, ", ")));
  }

 private:
  std::string subject_;
  std::vector<std::string> facts_;
};

std::optional<std::uint64_t> whole(const std::optional<double>& value) {
  return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

void waiting(const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("waiting for storage")
      .share(sum.io_pressure.value(), "some task")
      .share(sum.io_full.value(), "all tasks")
      .add(sum.has_job ? sum.blocked_threads.value() : std::nullopt, "{:.1f} threads on average")
      .share(sum.blocked_share.value(), "of threads that wait or work")
      .into(lines);
}

void data(const WatchTarget& target, const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("disk " + target.storage.device)
      .rate(sum.disk_read_bytes.value(), "read")
      .add(sum.disk_reads.value(), "{:.0f} reads/s")
      .size(whole(sum.disk_read_size.value()), "of")
      .time(sum.disk_read_wait.value(), "each")
      .rate(sum.disk_written_bytes.value(), "written")
      .share(sum.disk_busy.value(), "busy")
      .into(lines);
  EvidenceLine("NFS " + target.storage.source)
      .rate(sum.nfs_read_bytes.value(), "read")
      .add(sum.nfs_operations.value(), "{:.0f} requests/s")
      .time(sum.nfs_round_trip.value(), "round trip")
      .share(sum.nfs_retransmitted.value(), "sent again")
      .into(lines);
  EvidenceLine("page cache").share(sum.cached.value(), "holds of some files of PATH").into(lines);
}

void job(const WatchSummary& sum, std::vector<std::string>& lines) {
  std::optional<double> processors;
  if (sum.processors) processors = static_cast<double>(*sum.processors);
  EvidenceLine("job")
      .add(sum.cores.value(), "{:.1f} cores used")
      .add(sum.cores.value() ? processors : std::nullopt, "of {:.0f} that it may use")
      .add(sum.queued_threads.value(), "{:.1f} threads wait for one")
      .add(sum.saturated_processes.value(), "{:.1f} processes with a whole core")
      .rate(sum.asked_bytes.value(), "read calls")
      .rate(sum.from_storage_bytes.value(), "from storage")
      .rate(sum.to_storage_bytes.value(), "to storage")
      .into(lines);
}

void processors(const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("node")
      .share(sum.cpu_busy.value(), "processors busy")
      .add(sum.busy_cores.value(), "{:.1f} cores")
      .into(lines);
  EvidenceLine("waiting for cores").share(sum.cpu_pressure.value(), "some task").into(lines);
  EvidenceLine("CPU limit").add(sum.cpu_limit, "{:.2f} cores").share(sum.throttled.value(), "cuts in").into(lines);
}

void memory(const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("memory")
      .share(sum.memory_pressure.value(), "some task waits")
      .size(sum.least_memory_available, "least available")
      .size(sum.memory, "of")
      .add(sum.swapped_pages.value(), "{:.0f} pages/s swapped")
      .into(lines);
  EvidenceLine("control group")
      .size(sum.memory_limit ? sum.most_group_memory : std::nullopt, "at most")
      .size(sum.memory_limit, "of")
      .into(lines);
}

void gpus(const WatchSummary& sum, std::vector<std::string>& lines) {
  if (sum.most_gpus_in_use == 0) return;
  EvidenceLine(format_count(sum.most_gpus_in_use, "GPU") + " in use")
      .share(sum.gpu_busy.value(), "busy")
      .share(sum.link_use.value(), "link used")
      .into(lines);
}

void dev_shm(const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("/dev/shm").size(sum.least_dev_shm_free, "least free").size(sum.dev_shm_size, "of").into(lines);
}

}  // namespace

std::vector<std::string> watch_evidence(const WatchTarget& target, const WatchSummary& summary, Shortage shortage) {
  const bool undecided = shortage == Shortage::nothing;
  std::vector<std::string> lines;
  if (shortage == Shortage::storage || undecided) {
    waiting(summary, lines);
    data(target, summary, lines);
  }
  if (shortage == Shortage::cores || shortage == Shortage::cpu_limit || undecided) processors(summary, lines);
  if (shortage == Shortage::memory) memory(summary, lines);
  if (shortage == Shortage::dev_shm) dev_shm(summary, lines);
  job(summary, lines);
  gpus(summary, lines);
  return lines;
}

}  // namespace shardkit::bench
