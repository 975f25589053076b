#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/env/env.hpp"
#include "bench/env/shared_storage.hpp"
#include "core/units.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {
namespace {

using Findings = std::vector<MachineFinding>;
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
         "{measured}: limits, devices and mounts may differ from the host",
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
      {"dev_shm_too_small", Severity::error, measured, format_rounded_size(need) + " or more", remedy,
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

using system::StorageClass;
constexpr std::array<std::string_view, 8> kPseudoTypes{"proc",   "sysfs",   "cgroup",  "cgroup2",
                                                       "devpts", "debugfs", "tracefs", "securityfs"};

bool contains(std::span<const std::string> options, std::string_view option) {
  return std::ranges::find(options, option) != options.end();
}

bool lies_in_layer(const Environment& environment) {
  return environment.storage.storage_class == StorageClass::overlay;
}

bool is_on_disk(const system::StorageFacts& storage) {
  return !storage.device.empty() && storage.storage_class != StorageClass::memory;
}

/// The kernel shows relatime and noatime and nothing for strictatime.
bool writes_access_times(const system::StorageFacts& storage) {
  return is_on_disk(storage) && !storage.options.empty() && !contains(storage.options, "ro") &&
         !contains(storage.options, "relatime") && !contains(storage.options, "noatime");
}

constexpr std::array kStorageRules{
    Rule{"pseudo_file_system", kWarning, "a file system that stores data", "give the folder of the data",
         "{path} is on {measured}, whose files are generated by the kernel",
         [](const Environment& e) {
           const std::string& type = e.storage.file_system;
           return shown_if(std::ranges::find(kPseudoTypes, type) != kPseudoTypes.end(), type);
         }},
    Rule{"data_in_memory", kWarning, "a disk, if you want to measure a disk",
         "to measure a disk, copy the data there; for training, memory is the fastest storage",
         "the data is on {measured}, which is memory: no disk is measured",
         [](const Environment& e) {
           const system::StorageFacts& storage = e.storage;
           return shown_if(storage.storage_class == StorageClass::memory,
                           storage.file_system.empty() ? storage.device : storage.file_system);
         }},
    Rule{"data_in_container_layer", kWarning, "a volume or bind mount",
         "docker -v /data:/data, or a volume of Kubernetes",
         "the data is in the container's own layers (overlay): files are copied on write and the cache state is not "
         "visible",
         [](const Environment& e) { return shown_if(lies_in_layer(e) && !e.kernel.container.empty(), "overlay"); }},
    Rule{"data_in_container_layer", kWarning, "a volume or bind mount",
         "docker -v /data:/data, or a volume of Kubernetes",
         "the data is on layers over another file system (overlay): files are copied on write and the cache state is "
         "not visible",
         [](const Environment& e) { return shown_if(lies_in_layer(e) && e.kernel.container.empty(), "overlay"); }},
    Rule{
        "hdd", kWarning, "NVMe: 3000-7000 MB/s; this class: 150-250 MB/s",
        "read whole shards sequentially with few readers, or stage to NVMe",
        "the data is on a spinning disk: 100 to 200 random reads per second, whatever their size",
        [](const Environment& e) { return shown_if(e.storage.storage_class == StorageClass::hdd, "a spinning disk"); }},
    Rule{"strictatime", kWarning, "relatime, or noatime", "mount -o remount,relatime {mount}",
         "the mount option strictatime causes a disk write for every file read",
         [](const Environment& e) { return shown_if(writes_access_times(e.storage), "strictatime"); }},
    Rule{"mount_sync", kWarning, "async", "mount -o remount,async {mount}",
         "every write to {mount} waits for the disk: shards and checkpoints are written at a fraction of its rate",
         [](const Environment& e) {
           return shown_if(is_on_disk(e.storage) && contains(e.storage.options, "sync"), "sync");
         }},
    Rule{"mount_discard", kHint, "a weekly fstrim", "systemctl enable --now fstrim.timer, and mount without discard",
         "every deletion also sends TRIM commands, which stall reads on many drives",
         [](const Environment& e) {
           return shown_if(is_on_disk(e.storage) && contains(e.storage.options, "discard"), "discard");
         }},
    Rule{"no_barriers", kWarning, "barriers on", "mount -o remount,barrier {mount}; a current XFS has no other mode",
         "after a power failure, files that a program has synced may be lost or damaged",
         [](const Environment& e) {
           const auto& options = e.storage.options;
           return shown_if(contains(options, "nobarrier") || contains(options, "barrier=0"), "nobarrier");
         }},
    Rule{"ext4_journal", kWarning, "data=ordered", "mount with data=ordered (tune2fs -o journal_data_ordered)",
         "{file_system} writes all data twice, and has neither direct reads nor GPUDirect Storage",
         [](const Environment& e) { return shown_if(contains(e.storage.options, "data=journal"), "data=journal"); }},
    Rule{"read_ahead_off", kHint, "128 KiB or more", "blockdev --setra 256 /dev/{device}",
         "read-ahead of this device is off: sequential readers wait for each block",
         [](const Environment& e) { return shown_if(!e.storage.device.empty() && e.storage.read_ahead == 0U, "0"); }},
    // A fair scheduler costs processor time at rates of flash.
    Rule{"scheduler", kHint, "none", "echo none > /sys/block/{disk}/queue/scheduler",
         "the scheduler bfq limits an NVMe drive to a few 100,000 reads per second",
         [](const Environment& e) {
           const auto& drive = e.block_device;
           return shown_if(drive && drive->storage_class == StorageClass::nvme && drive->scheduler == "bfq", "bfq");
         }},
    Rule{
        "loop_device", kHint, "a file system directly on the disk",
        "fine for squashfs images; for measurements use the disk below",
        "the data is in a loop-mounted file: it may be cached twice",
        [](const Environment& e) { return shown_if(e.storage.storage_class == StorageClass::loop, e.storage.device); }},
    Rule{"storage_unknown", kHint, "listed in /proc/self/mountinfo", "also run it outside the chroot or container",
         "the storage of {path} is not visible from here",
         [](const Environment& e) {
           return shown_if(e.storage.file_system.empty() && e.storage.device.empty(), "unknown");
         }},
};

std::string generation(double speed) {
  return fmt::format("generation {} ({} GT/s)", system::pcie_generation(speed), speed);
}

void link_width(const std::string& part, const std::string& name, const system::PcieLink& link, Findings& findings) {
  const auto best = link.best_width();
  if (!link.width || !best || *link.width >= *best) return;
  findings.push_back(
      {part + "_pcie_width", kWarning, fmt::format("x{}", *link.width), fmt::format("x{}", *best),
       "reseat the card or its riser, check for a shared slot and for errors in dmesg (AER)",
       fmt::format("{} at {} runs on {} of {} PCIe lanes: it gets {:.0f} % of its bandwidth", name, link.address,
                   *link.width, *best, 100.0 * static_cast<double>(*link.width) / static_cast<double>(*best))});
}

/// An idle GPU lowers the speed of its link, never its width: then this proves nothing. Drives do not.
enum class Idle { no, maybe, yes };

Idle idle_state(const gpu::GpuState* state) {
  if (!state || !state->performance_state) return Idle::maybe;
  return *state->performance_state == 0 ? Idle::no : Idle::yes;
}

void link_speed(const std::string& part, const std::string& name, const system::PcieLink& link, Idle idle,
                Findings& findings) {
  const auto best = link.best_speed();
  if (!link.speed || !best || *link.speed >= *best || idle == Idle::yes) return;
  const bool may_be_idle = idle == Idle::maybe;
  findings.push_back(
      {part + "_pcie_speed", may_be_idle ? kHint : kWarning, generation(*link.speed), generation(*best),
       may_be_idle ? "check again while the GPU is busy; then the slot's BIOS setting, the riser, AER in dmesg"
                   : "check the BIOS setting of the slot, the riser or cable, and errors in dmesg (AER)",
       fmt::format("the PCIe link of {} at {} runs at {} instead of {}{}", name, link.address, generation(*link.speed),
                   generation(*best), may_be_idle ? "; an idle GPU does this to save power" : "")});
}

void slot(const std::string& part, const std::string& name, const system::PcieLink& link, Findings& findings) {
  const bool slow = link.max_speed && link.slot_speed && *link.slot_speed < *link.max_speed;
  const bool narrow = link.max_width && link.slot_width && *link.slot_width < *link.max_width;
  if (!slow && !narrow) return;
  const std::string has = narrow ? fmt::format("x{}", *link.slot_width) : generation(*link.slot_speed);
  const std::string wants = narrow ? fmt::format("x{}", *link.max_width) : generation(*link.max_speed);
  findings.push_back(
      {part + "_slot", kHint, has, wants, "fine if the machine has no better slot; otherwise move the card",
       fmt::format("the slot of {} at {} offers {}, the card supports {}", name, link.address, has, wants)});
}

void link(const std::string& part, const std::string& name, const system::PcieLink& facts, Idle idle,
          Findings& findings) {
  link_width(part, name, facts, findings);
  link_speed(part, name, facts, idle, findings);
  slot(part, name, facts, findings);
}

void network_link(const system::NetworkCard& card, Findings& findings) {
  if (!card.pcie || !card.bytes_per_second) return;
  const auto bus = system::pcie_rate(card.pcie->speed, card.pcie->width);
  if (!bus || *bus >= *card.bytes_per_second) return;
  findings.push_back({"network_pcie", kWarning, format_rate(*bus), format_rate(*card.bytes_per_second) + " or more",
                      "use a slot with more lanes or a newer generation",
                      fmt::format("{} is faster than its PCIe link: {} compared with {}", card.name, format_rate(*bus),
                                  format_rate(*card.bytes_per_second))});
}

/// Nodes with a CPU on which this process may run.
std::set<std::uint64_t> own_nodes(const Environment& environment) {
  const auto allowed = system::parse_cpu_list(environment.cpu.affinity_list);
  const std::set<unsigned> mine(allowed.begin(), allowed.end());
  std::set<std::uint64_t> nodes;
  for (const system::NumaNode& node : environment.numa_nodes) {
    const auto cpus = system::parse_cpu_list(node.cpus);
    if (std::any_of(cpus.begin(), cpus.end(), [&](unsigned cpu) { return mine.contains(cpu); }))
      nodes.insert(node.node);
  }
  return nodes;
}

void remote(const std::string& name, std::optional<std::uint64_t> node, const std::set<std::uint64_t>& mine,
            Findings& findings) {
  if (!node || mine.empty() || mine.contains(*node)) return;
  findings.push_back({"numa_remote", kWarning, fmt::format("{} on node {}", name, *node), "processors of the same node",
                      fmt::format("numactl --cpunodebind={0} --membind={0}", *node),
                      fmt::format("{} is attached to NUMA node {}, where this process may not run: all its data "
                                  "crosses the link between sockets",
                                  name, *node)});
}

void split(const system::DriveLink& drive, const std::set<std::uint64_t>& of_gpus, Findings& findings) {
  const auto node = drive.pcie.numa_node;
  if (!node || of_gpus.empty() || of_gpus.contains(*node)) return;
  findings.push_back({"numa_split", kHint, fmt::format("{} on node {}, GPUs on others", drive.disk, *node),
                      "drive and GPUs on one node", "stage to a drive beside the GPUs, if there is one",
                      "data from the drive crosses the link between sockets before it reaches a GPU"});
}

/// The drives below the data that hang on PCIe.
std::vector<system::DriveLink> drives(const Environment& environment) {
  return environment.block_device ? environment.block_device->links : std::vector<system::DriveLink>();
}

void distances(const Environment& environment, Findings& findings) {
  if (environment.numa_nodes.size() < 2) return;
  const auto mine = own_nodes(environment);
  std::set<std::uint64_t> of_gpus;
  for (const system::GpuDevice& gpu : environment.gpu_devices) {
    remote("GPU " + gpu.pcie.address, gpu.pcie.numa_node, mine, findings);
    if (gpu.pcie.numa_node) of_gpus.insert(*gpu.pcie.numa_node);
  }
  for (const system::NetworkCard& card : environment.network) {
    if (card.pcie && card.state == "up") remote(card.name, card.pcie->numa_node, mine, findings);
  }
  for (const system::DriveLink& drive : drives(environment)) {
    remote(drive.disk, drive.pcie.numa_node, mine, findings);
    split(drive, of_gpus, findings);
  }
}

void hidden_gpus(const Environment& environment, Findings& findings) {
  const std::size_t on_bus = environment.gpu_devices.size();
  if (on_bus <= environment.gpus) return;
  findings.push_back(
      {"gpus_not_visible", kHint, fmt::format("{} of {}", environment.gpus, on_bus),
       "all GPUs, or those assigned by the scheduler",
       "Docker: --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility,video; Kubernetes: nvidia.com/gpu; bare "
       "metal: check that the driver is loaded",
       fmt::format("the PCI bus has {} NVIDIA GPUs, this process can use {}", on_bus, environment.gpus)});
}

std::string name_of(const gpu::GpuState& gpu) { return fmt::format("GPU {} at {}", gpu.index, gpu.pci_address); }

/// Heat and power have their own reasons; a hardware slowdown without either may be caused by both.
std::string slowdown_remedy(std::uint64_t faults) {
  using namespace gpu::clock_limit;
  const bool heat = (faults & (kDriverHeat | kHardwareHeat)) != 0;
  const bool power = (faults & kPowerBrake) != 0;
  std::string text;
  if (heat || !power) text += "check fans, dust and intake air temperature; ";
  if (power || !heat) text += "check power supplies, cables and rack budget; ";
  return text + "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER";
}

void slowdown(const gpu::GpuState& gpu, Findings& findings) {
  const std::uint64_t faults = gpu.clock_limits & gpu::clock_limit::kSlowdowns;
  if (faults == 0) return;
  std::string facts = fmt::format("{}", fmt::join(gpu::clock_limit_names(faults), ", "));
  if (gpu.temperature) facts += fmt::format(" at {:.0f} degrees C", *gpu.temperature);
  if (gpu.sm_clock && gpu.max_sm_clock) {
    facts += fmt::format(", {:.0f} of {:.0f} MHz", static_cast<double>(*gpu.sm_clock) / 1e6,
                         static_cast<double>(*gpu.max_sm_clock) / 1e6);
  }
  findings.push_back({"gpu_slowdown", kWarning, facts, "clocks not limited by heat or power", slowdown_remedy(faults),
                      fmt::format("{} is throttled: {}", name_of(gpu), facts)});
}

std::string_view fault_text(gpu::GpuFault fault) {
  constexpr std::array<std::string_view, kEnumNames<gpu::GpuFault>.size()> kTexts{
      "has fallen off the bus", "works again only after a reset", "does not answer its driver"};
  return kTexts.at(static_cast<std::size_t>(fault));
}

void lost(const gpu::GpuState& gpu, Findings& findings) {
  if (!gpu.fault) return;
  findings.push_back(
      {"gpu_lost", kWarning, std::string(enum_name(*gpu.fault)), "a GPU that answers",
       "look for Xid errors in dmesg, then nvidia-smi --gpu-reset or restart the machine",
       fmt::format("{} {}: jobs that use it fail",
                   gpu.pci_address.empty() ? fmt::format("GPU {}", gpu.index) : name_of(gpu), fault_text(*gpu.fault))});
}

void power_limit(const gpu::GpuState& gpu, Findings& findings) {
  constexpr double kRounding = 0.99;
  if (!gpu.power_limit || !gpu.default_power_limit) return;
  if (*gpu.power_limit >= kRounding * *gpu.default_power_limit) return;
  findings.push_back(
      {"gpu_power_limit", kHint, fmt::format("{:.0f} W", *gpu.power_limit),
       fmt::format("{:.0f} W, the default", *gpu.default_power_limit),
       fmt::format("fine if the rack's power budget requires it; otherwise nvidia-smi -i {} -pl {:.0f}", gpu.index,
                   *gpu.default_power_limit),
       fmt::format("the power limit of {} is {:.0f} W of {:.0f} W: it computes more slowly, and waits less for data",
                   name_of(gpu), *gpu.power_limit, *gpu.default_power_limit)});
}

void in_use(const gpu::GpuState& gpu, Findings& findings) {
  constexpr double kMuch = 0.1;
  if (gpu.gpu_busy.value_or(0) < kMuch) return;
  const std::string busy = fmt::format("busy for {:.0f} % of the time", *gpu.gpu_busy * 100);
  findings.push_back(
      {"gpu_in_use", kHint, busy, "idle before a measurement",
       "nvidia-smi shows the processes; measure when they have ended",
       fmt::format("{} is {}: the load of other processes affects every measurement", name_of(gpu), busy)});
}

/// Modes are those of a node: one finding for all of its GPUs.
void mode(const std::vector<gpu::GpuState>& gpus, std::optional<std::string> gpu::GpuState::*member,
          std::string_view value, MachineFinding finding, Findings& findings) {
  const auto count = std::ranges::count_if(gpus, [&](const gpu::GpuState& gpu) { return gpu.*member == value; });
  if (count == 0) return;
  finding.measured = fmt::format("{}, {} of {} GPUs", value, count, gpus.size());
  findings.push_back(std::move(finding));
}

/// Processors, memory, limits of the process and the container.
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

/// The storage of the data: a disk, or a shared file system and its network.
void judge_storage(const Environment& environment, Findings& findings) {
  if (environment.path.empty()) return;
  const system::StorageFacts& storage = environment.storage;
  add_findings<Environment>(kStorageRules, environment, findings, fmt::arg("path", environment.path),
                            fmt::arg("mount", storage.mount_point), fmt::arg("device", storage.device),
                            fmt::arg("disk", environment.block_device ? environment.block_device->disk : ""),
                            fmt::arg("file_system", storage.file_system));
  judge_shared_storage(environment, findings);
}

/// What sends data of GPUDirect Storage through host memory after all (NVIDIA's troubleshooting guide, chapter 14).
constexpr std::array kGdsRules{
    Rule{"gds_multipath", kHint, "N", "options nvme_core multipath=N in /etc/modprobe.d, then rebuild the initramfs",
         "with native multipath, GPUDirect Storage copies the data of local NVMe drives through host memory",
         [](const Environment& e) {
           return shown_if(e.nvme_multipath == "Y" && e.storage.storage_class == StorageClass::nvme, "Y");
         }},
    Rule{"gds_array", kHint, "one drive, or raid0", "mdadm --create with --level=0, for data that has a copy elsewhere",
         "GPUDirect Storage copies data of arrays other than RAID 0 through host memory",
         [](const Environment& e) {
           const std::string level = e.block_device ? e.block_device->array_level : std::string();
           return shown_if(!level.empty() && level != "raid0", level);
         }},
    Rule{"gds_file_system", kHint, "xfs, or ext4 with data=ordered", "put the data on XFS or ext4",
         "GPUDirect Storage copies data of this file system through host memory",
         [](const Environment& e) {
           const std::string& type = e.storage.file_system;
           return shown_if(e.block_device && !type.empty() && type != "xfs" && type != "ext4", type);
         }},
};

/// PCIe links, NUMA distance, network cards and GPUs, including data from their driver.
void judge_devices(const Environment& environment, Findings& findings) {
  if (environment.gds_driver) add_findings<Environment>(kGdsRules, environment, findings);
  for (const system::GpuDevice& gpu : environment.gpu_devices) {
    const gpu::GpuState* const state = environment.gpu_monitor.find(gpu.pcie.address);
    if (state && state->c2c_rate) continue;  // copies do not use its PCIe link
    link("gpu", gpu.model, gpu.pcie, idle_state(state), findings);
  }
  for (const system::DriveLink& drive : drives(environment)) {
    if (drive.disk.starts_with("nvme")) link("nvme", drive.disk, drive.pcie, Idle::no, findings);
  }
  for (const system::NetworkCard& card : environment.network) network_link(card, findings);
  distances(environment, findings);
  hidden_gpus(environment, findings);

  const std::vector<gpu::GpuState>& gpus = environment.gpu_monitor.gpus;
  for (const gpu::GpuState& gpu : gpus) {
    lost(gpu, findings);
    slowdown(gpu, findings);
    power_limit(gpu, findings);
    in_use(gpu, findings);
  }
  mode(gpus, &gpu::GpuState::persistence, "off",
       {"gpu_persistence",
        kHint,
        {},
        "on",
        "start nvidia-persistenced, or nvidia-smi -pm 1",
        "the driver unloads from unused GPUs: the next program waits until it is loaded, often for seconds"},
       findings);
  mode(gpus, &gpu::GpuState::mig, "on",
       {"gpu_mig",
        kHint,
        {},
        "off, if one job has the whole GPU",
        "fine if GPUs are shared on purpose; otherwise nvidia-smi -mig 0",
        "GPUs are divided into instances (MIG): each program gets only a part of the memory and copy engines"},
       findings);
}

}  // namespace

std::vector<MachineFinding> find_findings(const Environment& environment, const std::optional<LoaderJob>& job) {
  std::vector<MachineFinding> findings;
  judge_limits(environment, job, findings);
  judge_storage(environment, findings);
  judge_devices(environment, findings);
  std::ranges::stable_sort(findings, {}, &MachineFinding::severity);
  return findings;
}

}  // namespace shardkit::bench
