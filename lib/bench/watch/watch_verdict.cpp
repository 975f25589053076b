#include "bench/watch/watch_verdict.hpp"

#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/watch/shortage.hpp"
#include "core/command_text.hpp"
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

/// Names the owner of a pressure that is not the job's.
const char* whose(const WatchSummary& summary) {
  return summary.has_job && !summary.has_own_pressure ? " of the node" : "";
}

/// By Shortage.
constexpr std::array<std::string_view, kEnumNames<Shortage>.size()> kThings{
    "nothing", "nothing", "the CPU limit", "memory", "CPU", "a PCIe link to a GPU", "storage", "space in /dev/shm"};

/// The job was not fed, but no counter of the node shows why.
std::string idle_text(const WatchSummary& summary) {
  const auto busy = summary.gpu_busy.value();
  if (!busy) return "found no bottleneck on this node";
  return fmt::format("found no bottleneck on this node, but GPUs were busy only {} of the time", percent(*busy));
}

std::string verdict_text(const WatchSummary& summary, Shortage shortage) {
  if (summary.intervals == 0) return "nothing was measured: the watch ended before its first interval";
  if (shortage == Shortage::compute) {
    return fmt::format("no bottleneck: GPUs were busy {} of the time", percent(summary.gpu_busy.value().value_or(0)));
  }
  if (shortage == Shortage::nothing) return idle_text(summary);
  const std::string_view subject = kThings[static_cast<std::size_t>(shortage)];
  const char* const owner = shortage == Shortage::memory ? whose(summary) : "";
  const double other = summary.share(Shortage::nothing) + summary.share(Shortage::compute);
  if (other > summary.share(shortage)) {
    return fmt::format("no bottleneck {} of the time; {}{} {} of the time", percent(other), subject, owner,
                       percent(summary.share(shortage)));
  }
  return fmt::format("{}{} was the bottleneck {} of the time", subject, owner, percent(summary.share(shortage)));
}

/// By the storage of the data; a local disk does not need another local disk.
std::string_view faster_reads(const WatchTarget& target) {
  if (target.nfs_mount)
    return "use more connections (nconnect) and read-ahead, or stage the data to a local disk (shardctl stage)";
  if (system::has_remote_cache(target.storage.storage_class)) {
    return "use more parallel reads (num_workers), or stage the data to a local disk (shardctl stage)";
  }
  if (!target.storage.device.empty()) {
    return "use more and larger parallel reads (num_workers, shards by shardctl convert), or a faster disk";
  }
  return "use more parallel reads (num_workers) or faster storage, or stage the data to a local disk (shardctl stage)";
}

std::string storage_remedy(const WatchTarget& target, const WatchSummary& summary) {
  const std::string path = target.path.empty() ? "PATH" : shell_word(target.path);
  const double read = summary.disk_read_bytes.value().value_or(0) + summary.nfs_read_bytes.value().value_or(0);
  const double written = summary.disk_written_bytes.value().value_or(0);
  if (written > read && written > 0) {
    return fmt::format(
        "more is written than read: write checkpoints in the background, less often or to another disk (`iobench "
        "checkpoint {}` measures it)",
        path);
  }
  std::string text(faster_reads(target));
  text += fmt::format("; `iobench read {} --cache cold` measures the storage, `iobench env {}` checks its settings",
                      path, path);
  if (!target.path.empty()) return text;
  return text + "; with PATH, watch also shows its disk or mount";
}

/// Cores of the node; both means are over the same intervals.
std::optional<double> node_cores(const WatchSummary& summary) {
  const double busy = summary.cpu_busy.value().value_or(0);
  const auto cores = summary.busy_cores.value();
  return cores && busy > 0 ? std::optional(*cores / busy) : std::nullopt;
}

/// Whether the job is limited by its quota, by its own threads that compete for cores, or by other processes.
std::string cores_remedy(const WatchSummary& summary) {
  const auto all = summary.busy_cores.value();
  const auto own = summary.cores.value();
  const auto there = node_cores(summary);
  if (own && there && summary.processors) {
    const auto allowed = static_cast<double>(*summary.processors);
    if (allowed < std::round(*there) && *own >= watch_rules::kCoresBusy * allowed) {
      return fmt::format(
          "the job may run on {} of {:.0f} processors and uses them all: allow more (taskset, the container's cpuset, "
          "Slurm's --cpus-per-task)",
          *summary.processors, *there);
    }
  }
  if (all && own && *own < *all / 2) {
    return fmt::format(
        "other processes use {:.1f} of the {:.1f} busy cores: end or move them, or reserve cores for the job",
        *all - *own, *all);
  }
  return "use more cores, smaller images (shardctl convert --resize) or decoding on the GPU; `iobench decode` measures "
         "what a core decodes";
}

std::string limit_remedy(const WatchSummary& summary) {
  const std::string limit = summary.cpu_limit ? fmt::format(" above {:.2f} cores", *summary.cpu_limit) : "";
  return fmt::format(
      "raise the CPU limit of the container{}, or start fewer threads (OMP_NUM_THREADS, num_workers): threads above "
      "the limit are stopped for the rest of each period",
      limit);
}

std::string nothing_remedy(const WatchSummary& summary) {
  if (!summary.gpu_busy.value()) return {};
  return "use more loader processes (num_workers), a larger prefetch_factor and pin_memory. Then check what is not "
         "visible here: a slow single thread, a remote store, waiting for other nodes";
}

std::string remedy_for(const WatchTarget& target, const WatchSummary& summary, Shortage shortage) {
  switch (shortage) {
    case Shortage::cpu_limit:
      return limit_remedy(summary);
    case Shortage::memory:
      return "use fewer loader processes or a smaller prefetch_factor, give the container more memory, or use less of "
             "it in /dev/shm and tmpfs";
    case Shortage::cores:
      return cores_remedy(summary);
    case Shortage::gpu_link:
      return "send 8-bit values over the link and normalize on the GPU; `iobench transfer` measures the link";
    case Shortage::storage:
      return storage_remedy(target, summary);
    case Shortage::dev_shm:
      return "make it larger (--shm-size of Docker, an emptyDir with medium Memory in Kubernetes), or use fewer loader "
             "processes or a smaller prefetch_factor; files of killed jobs stay there until they are removed";
    case Shortage::nothing:
      return summary.intervals > 0 ? nothing_remedy(summary) : "";
    case Shortage::compute:
      break;
  }
  return {};
}

constexpr double kShown = 0.05;  // what is less would be 0.0

std::optional<double> as_double(const std::optional<std::uint64_t>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

/// "I/O pressure 64 %, all tasks 58 %": the known facts about one subject.
class EvidenceLine {
 public:
  explicit EvidenceLine(std::string subject) : subject_(std::move(subject)) {}

  EvidenceLine& add(const std::optional<double>& value, fmt::format_string<const double&> format) {
    if (value) facts_.push_back(fmt::format(format, *value));
    return *this;
  }
  /// In the words of the unit: "busy 90 %", "read 1.20 GB/s", "each 3.41 ms", "of 64.0 GiB".
  EvidenceLine& add(std::string_view what, const std::optional<double>& value, Unit unit) {
    if (!value) return *this;
    const std::string text = unit == Unit::ratio     ? percent(*value)
                             : unit == Unit::seconds ? format_duration(*value)
                             : unit == Unit::bytes   ? format_rounded_size(*value)
                                                     : format_rate(*value);
    facts_.push_back(fmt::format("{} {}", what, text));
    return *this;
  }
  EvidenceLine& add(std::string_view what, const std::optional<std::uint64_t>& bytes) {
    return add(what, as_double(bytes), Unit::bytes);
  }
  /// Adds nothing if no fact is known.
  void into(std::vector<std::string>& lines) const {
    if (!facts_.empty()) lines.push_back(fmt::format("{}: {}", subject_, fmt::join(facts_, ", ")));
  }

 private:
  std::string subject_;
  std::vector<std::string> facts_;
};

void waiting(const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("waiting for storage")
      .add(fmt::format("some task{}", whose(sum)), sum.io_pressure.value(), Unit::ratio)
      .add(fmt::format("all tasks{}", whose(sum)), sum.io_full.value(), Unit::ratio)
      .add(sum.has_job ? sum.blocked_threads.value() : std::nullopt, "{:.1f} threads of the job on average")
      .add(sum.has_job ? "share of its active threads" : "share of active threads", sum.blocked_share.value(),
           Unit::ratio)
      .into(lines);
}

void data(const WatchTarget& target, const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("disk " + target.storage.device)
      .add("read", sum.disk_read_bytes.value(), Unit::bytes_per_second)
      .add(sum.disk_reads.value(), "{:.0f} reads/s")
      .add("of", sum.disk_read_size.value(), Unit::bytes)
      .add("each", sum.disk_read_wait.value(), Unit::seconds)
      .add("written", sum.disk_written_bytes.value(), Unit::bytes_per_second)
      .add("busy", sum.disk_busy.value(), Unit::ratio)
      .into(lines);
  EvidenceLine("NFS " + target.storage.source)
      .add("read", sum.nfs_read_bytes.value(), Unit::bytes_per_second)
      .add(sum.nfs_operations.value(), "{:.0f} requests/s")
      .add("round trip", sum.nfs_round_trip.value(), Unit::seconds)
      .add("retransmitted", sum.nfs_retransmitted.value(), Unit::ratio)
      .into(lines);
  EvidenceLine("sampled files of PATH").add("in the page cache", sum.cached.value(), Unit::ratio).into(lines);
}

void job(const WatchSummary& sum, std::vector<std::string>& lines) {
  const auto saturated = sum.saturated_processes.value();
  EvidenceLine("CPU of the job")
      .add(sum.cores.value(), "{:.1f} cores used")
      .add(sum.cores.value() ? as_double(sum.processors) : std::nullopt, "of {:.0f} that it may use")
      .add(sum.queued_threads.value(), "{:.1f} threads wait for a core")
      .add(saturated.value_or(0) >= kShown ? saturated : std::nullopt, "{:.1f} processes use a whole core each")
      .into(lines);
  EvidenceLine("reads of the job")
      .add("calls", sum.asked_bytes.value(), Unit::bytes_per_second)
      .add("from storage", sum.from_storage_bytes.value(), Unit::bytes_per_second)
      .into(lines);
  EvidenceLine("writes of the job").add("to storage", sum.to_storage_bytes.value(), Unit::bytes_per_second).into(lines);
}

void processors(const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("node")
      .add("processors busy", sum.cpu_busy.value(), Unit::ratio)
      .add(sum.busy_cores.value(), "{:.1f} cores")
      .into(lines);
  EvidenceLine("waiting for cores")
      .add(fmt::format("some task{}", whose(sum)), sum.cpu_pressure.value(), Unit::ratio)
      .into(lines);
  EvidenceLine("CPU limit")
      .add(sum.cpu_limit, "{:.2f} cores")
      .add("throttles", sum.throttled.value(), Unit::ratio)
      .into(lines);
}

void memory(const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("memory")
      .add(fmt::format("some task{} waits", whose(sum)), sum.memory_pressure.value(), Unit::ratio)
      .add("lowest available", sum.least_memory_available)
      .add("of", sum.memory)
      .add(sum.swapped_pages.value(), "{:.0f} pages/s swapped")
      .into(lines);
  EvidenceLine("control group")
      .add("at most", sum.memory_limit ? sum.most_group_memory : std::nullopt)
      .add("of", sum.memory_limit)
      .into(lines);
}

void gpus(const WatchSummary& sum, std::vector<std::string>& lines) {
  if (sum.most_gpus_in_use == 0) return;
  EvidenceLine(format_count(sum.most_gpus_in_use, "GPU") + " in use")
      .add("busy", sum.gpu_busy.value(), Unit::ratio)
      .add("link used", sum.link_use.value(), Unit::ratio)
      .into(lines);
}

void dev_shm(const WatchSummary& sum, std::vector<std::string>& lines) {
  EvidenceLine("/dev/shm").add("lowest free", sum.least_dev_shm_free).add("of", sum.dev_shm_size).into(lines);
}

/// The figures of a kind of shortage, a line for each thing that they are of.
std::vector<std::string> evidence_of(const WatchTarget& target, const WatchSummary& summary, Shortage shortage) {
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

}  // namespace

WatchVerdict judge_watch(const WatchTarget& target, const WatchSummary& summary) {
  WatchVerdict verdict;
  verdict.short_of = worst_shortage(summary);
  if (summary.intervals > 0) verdict.share = summary.share(verdict.short_of);
  verdict.text = verdict_text(summary, verdict.short_of);
  verdict.evidence = evidence_of(target, summary, verdict.short_of);
  verdict.remedy = remedy_for(target, summary, verdict.short_of);
  return verdict;
}

}  // namespace shardkit::bench
