#include "bench/watch/watch_summary.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/command_text.hpp"
#include "core/units.hpp"

namespace shardkit::bench {
namespace {

void lower(std::optional<std::uint64_t>& least, const std::optional<std::uint64_t>& value) {
  if (value && (!least || *value < *least)) least = value;
}

void raise(std::optional<std::uint64_t>& most, const std::optional<std::uint64_t>& value) {
  if (value && (!most || *value > *most)) most = value;
}

/// A GPU at rest lowers the speed of its link to save power, but never its lanes.
std::string degradation(const gpu::GpuState& gpu) {
  const auto name = [&] { return fmt::format("GPU {} at {}", gpu.index, gpu.pci_address); };
  if (gpu.pcie_lanes && gpu.max_pcie_lanes && *gpu.pcie_lanes < *gpu.max_pcie_lanes) {
    return fmt::format("{} has {} of {} lanes", name(), *gpu.pcie_lanes, *gpu.max_pcie_lanes);
  }
  const bool at_work = gpu.performance_state == 0;
  if (at_work && gpu.pcie_generation && gpu.max_pcie_generation && *gpu.pcie_generation < *gpu.max_pcie_generation) {
    return fmt::format("{} has a link of generation {} of {} while it works", name(), *gpu.pcie_generation,
                       *gpu.max_pcie_generation);
  }
  return {};
}

/// Levels, limits and extremes.
void add_levels(const WatchRow& row, WatchSummary& sum) {
  raise(sum.memory, row.node.memory);
  lower(sum.least_memory_available, row.node.memory_available);
  raise(sum.dev_shm_size, row.node.dev_shm_size);
  lower(sum.least_dev_shm_free, row.node.dev_shm_free);
  if (row.group.cpu_limit) sum.cpu_limit = row.group.cpu_limit;
  if (row.group.memory_limit) sum.memory_limit = row.group.memory_limit;
  raise(sum.most_group_memory, row.group.memory);
  std::uint64_t in_use = 0;
  for (const GpuRow& gpu : row.gpus) {
    if (gpu.state.fault) sum.lost_gpu = fmt::format("GPU {} ({})", gpu.state.index, enum_name(*gpu.state.fault));
    if (!is_in_use(gpu.state)) continue;
    ++in_use;
    if (sum.degraded_link.empty()) sum.degraded_link = degradation(gpu.state);
  }
  sum.most_gpus_in_use = std::max(sum.most_gpus_in_use, in_use);
  if (!row.job) return;
  sum.has_job = true;
  sum.has_own_pressure = has_own_pressure(row);
  sum.hides_bytes = sum.hides_bytes || !row.job->asked_bytes;
  sum.processors = row.job->processors;
  sum.most_processes = std::max(sum.most_processes, row.job->processes);
}

/// Of the GPUs in use; empty without any.
struct GpuUse {
  std::optional<double> slowed;    ///< 1 if heat or lack of power throttled one, else 0
  std::optional<double> link_use;  ///< of the busiest link
};

GpuUse use_of(const std::vector<GpuRow>& gpus) {
  GpuUse use;
  for (const GpuRow& gpu : gpus) {
    if (!is_in_use(gpu.state)) continue;
    use.slowed = (gpu.state.clock_limits & gpu::clock_limit::kSlowdowns) == 0 ? use.slowed.value_or(0) : 1;
    if (const auto used = link_use(gpu)) use.link_use = std::max(use.link_use.value_or(0), *used);
  }
  return use;
}

/// Calls `visit(field, mean, value)` for each mean of node and job, with its value in the interval.
template <class Visit>
void visit_means_of_job(WatchSummary& sum, const WatchRow& row, const Visit& visit) {
  const PressureShares pressure = felt_pressure(row);
  const JobRow job = row.job.value_or(JobRow());
  const auto counted = [&](std::uint64_t count) {
    return row.job ? std::optional(static_cast<double>(count)) : std::nullopt;
  };
  visit({"cpu_busy", Unit::ratio, "share of the node's CPU time that was used"}, sum.cpu_busy, row.node.cpu_busy);
  visit({"busy_cores", "cores used"}, sum.busy_cores, row.node.busy_cores);
  visit({"cpu_pressure", Unit::ratio, "share of the time in which a task waited for a core"}, sum.cpu_pressure,
        pressure.cpu);
  visit({"io_pressure", Unit::ratio, "share of the time in which a task waited for storage"}, sum.io_pressure,
        pressure.io);
  visit({"io_full_pressure", Unit::ratio, "share of the time in which all tasks waited for storage"}, sum.io_full,
        pressure.io_full);
  visit({"memory_pressure", Unit::ratio, "share of the time in which a task waited for memory"}, sum.memory_pressure,
        pressure.memory);
  visit({"blocked", Unit::ratio, "threads waiting for storage, as share of these and of cores at work"},
        sum.blocked_share, blocked_share(row));
  visit({"swapped_pages", Unit::per_second, "pages swapped in and out"}, sum.swapped_pages, row.node.swapped_pages);
  visit({"throttled", Unit::ratio, "share of the periods in which the CPU limit throttled"}, sum.throttled,
        row.group.throttled);
  visit({"blocked_threads", "threads of the job waiting for storage"}, sum.blocked_threads,
        counted(job.blocked_threads));
  visit({"cores", "cores used by the job"}, sum.cores, job.cores);
  visit({"queued_threads", "mean number of its threads that were ready to run and waited for a core"},
        sum.queued_threads, job.queued_threads);
  visit({"saturated_processes", "its processes that each used a whole core"}, sum.saturated_processes,
        counted(job.saturated_processes));
  visit({"asked", Unit::bytes_per_second, "bytes of its read calls"}, sum.asked_bytes, job.asked_bytes);
  visit({"from_storage", Unit::bytes_per_second, "bytes it read from storage"}, sum.from_storage_bytes,
        job.from_storage_bytes);
  visit({"to_storage", Unit::bytes_per_second, "bytes it wrote to storage"}, sum.to_storage_bytes,
        job.to_storage_bytes);
}

/// The same for data and GPUs. A mean over requests also gets their rate.
template <class Visit>
void visit_means_of_data(WatchSummary& sum, const WatchRow& row, const Visit& visit) {
  const DiskRow disk = row.disk.value_or(DiskRow());
  const NfsRow nfs = row.nfs.value_or(NfsRow());
  const GpuUse gpus = use_of(row.gpus);
  visit({"disk_reads", Unit::per_second, "reads of the disk of PATH"}, sum.disk_reads, disk.reads);
  visit({"disk_read", Unit::bytes_per_second, "bytes read from it"}, sum.disk_read_bytes, disk.read_bytes);
  visit({"disk_read_size", Unit::bytes, "mean size of a read"}, sum.disk_read_size, disk.read_size, disk.reads);
  visit({"disk_read_wait", Unit::seconds, "mean latency of a read"}, sum.disk_read_wait, disk.read_wait, disk.reads);
  visit({"disk_written", Unit::bytes_per_second, "bytes written to it"}, sum.disk_written_bytes, disk.written_bytes);
  visit({"disk_busy", Unit::ratio, "share of the time with a request in flight"}, sum.disk_busy, disk.busy);
  visit({"nfs_operations", Unit::per_second, "requests of the NFS mount of PATH"}, sum.nfs_operations, nfs.operations);
  visit({"nfs_read", Unit::bytes_per_second, "bytes read"}, sum.nfs_read_bytes, nfs.read_bytes);
  visit({"nfs_retransmitted", Unit::ratio, "share of the requests retransmitted"}, sum.nfs_retransmitted,
        nfs.retransmitted, nfs.operations);
  visit({"nfs_round_trip", Unit::seconds, "mean latency of a request"}, sum.nfs_round_trip, nfs.round_trip,
        nfs.operations);
  visit({"cached", Unit::ratio, "share of sampled files of PATH in the page cache"}, sum.cached, row.cached);
  visit({"gpu_busy", Unit::ratio, "share of the time in which GPUs in use ran kernels"}, sum.gpu_busy,
        mean_gpu_busy(row));
  visit({"gpu_slowed", Unit::ratio, "share of the time in which heat or lack of power throttled one"}, sum.gpu_slowed,
        gpus.slowed);
  visit({"gpu_link_use", Unit::ratio, "share of the PCIe link's rate, on the busiest GPU"}, sum.link_use,
        gpus.link_use);
}

/// Shares of the watched time by bottleneck.
struct ShortShares {
  const WatchSummary& summary;

  void describe(FieldList& v) {
    const auto share = [&](std::string_view name, Shortage shortage, std::string_view help) {
      double value = summary.share(shortage);
      v.field({name, Unit::ratio, help}, value);
    };
    share("cpu_limit", Shortage::cpu_limit, "the CPU limit of the control group throttled");
    share("memory", Shortage::memory, "tasks waited for memory");
    share("cores", Shortage::cores, "all cores were busy");
    share("gpu_link", Shortage::gpu_link, "a PCIe link of a GPU was saturated");
    share("storage", Shortage::storage, "tasks waited for storage");
    share("dev_shm", Shortage::dev_shm, "/dev/shm was nearly full");
    share("compute", Shortage::compute, "no bottleneck: the GPUs were busy");
    share("nothing", Shortage::nothing, "no bottleneck seen");
  }
};

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

void WeightedMean::add(const std::optional<double>& value, double weight) {
  if (!value) return;
  sum_ += *value * weight;
  weight_ += weight;
}

std::optional<double> WeightedMean::value() const {
  if (weight_ <= 0) return std::nullopt;
  return sum_ / weight_;
}

void WatchSummary::add(const WatchRow& row) {
  ++intervals;
  seconds += row.seconds;
  short_seconds[static_cast<std::size_t>(row.short_of)] += row.seconds;
  add_levels(row, *this);
  if (row.stalled) {
    stalled_seconds[row.stalled->pid] += row.seconds;
    StalledRow& most = stalled[row.stalled->pid];
    if (row.stalled->processes >= most.processes) most = *row.stalled;
  }
  const auto add = [&](const Field&, WeightedMean& mean, const std::optional<double>& value,
                       const std::optional<double>& per_second = 1) {
    mean.add(value, per_second.value_or(0) * row.seconds);
  };
  visit_means_of_job(*this, row, add);
  visit_means_of_data(*this, row, add);
}

double WatchSummary::share(Shortage shortage) const {
  return seconds > 0 ? short_seconds[static_cast<std::size_t>(shortage)] / seconds : 0;
}

std::optional<StalledRow> WatchSummary::stalled_job() const {
  const auto most = std::ranges::max_element(stalled_seconds, {}, [](const auto& entry) { return entry.second; });
  if (most == stalled_seconds.end() || most->second < watch_rules::kMostly * seconds) return std::nullopt;
  return stalled.at(most->first);
}

void WatchSummary::describe(FieldList& v) {
  v.field({"intervals", Unit::count, "intervals"}, intervals);
  v.field({"seconds", Unit::seconds, "total length of the intervals"}, seconds);
  ShortShares shares{*this};
  v.field({"short", Unit::ratio, "share of that time by bottleneck"}, shares);
  v.field({"memory", Unit::bytes, "memory of the node"}, memory);
  v.field({"least_memory_available", Unit::bytes, "lowest available memory"}, least_memory_available);
  v.field({"dev_shm_size", Unit::bytes, "size of /dev/shm"}, dev_shm_size);
  v.field({"least_dev_shm_free", Unit::bytes, "lowest free space in it"}, least_dev_shm_free);
  v.field({"cpu_limit", "CPU limit of the control groups, in cores"}, cpu_limit);
  v.field({"memory_limit", Unit::bytes, "memory limit of the control groups"}, memory_limit);
  v.field({"most_group_memory", Unit::bytes, "highest memory use of the control group, including page cache"},
          most_group_memory);
  v.field({"most_processes", Unit::count, "highest number of processes of the job"}, most_processes);
  v.field({"processors", Unit::count, "processors that the job may run on"}, processors);
  v.field({"most_gpus_in_use", Unit::count, "highest number of GPUs in use"}, most_gpus_in_use);
  const auto describe = [&](const Field& field, const WeightedMean& mean, const auto&...) {
    std::optional<double> value = mean.value();
    v.field(field, value);
  };
  visit_means_of_job(*this, {}, describe);
  visit_means_of_data(*this, {}, describe);
}

std::vector<MachineFinding> watch_findings(const WatchSummary& summary) {
  std::vector<MachineFinding> findings;
  add_findings<WatchSummary>(kRules, summary, findings, fmt::arg("reads", summary.disk_reads.value().value_or(0)),
                             fmt::arg("stalled", summary.stalled_job().value_or(StalledRow()).pid));
  std::ranges::stable_sort(findings, {}, &MachineFinding::severity);
  return findings;
}

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
