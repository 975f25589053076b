#include "bench/transfer/transfer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
namespace {

constexpr std::uint64_t kMostPinned = std::uint64_t{1} << 30U;

constexpr unsigned kMostTimings = 5;

/// Measures one GPU, into a result that other GPUs share.
class DeviceRun {
 public:
  DeviceRun(const TransferPlan& plan, gpu::Device& device, const TransferMachine& machine, Context& context,
            TransferResult& result)
      : plan_(plan),
        device_(device),
        probe_(machine.probe),
        monitor_(machine.monitor),
        context_(context),
        result_(result),
        facts_(look_at_device(device.facts(), probe_, monitor_)) {}

  void run() {
    choose_jobs();
    const auto nodes = placements(plan_.numa, facts_.numa_node, probe_, context_);
    context_.progress().start("copying", jobs_.size() * nodes.size());
    const std::size_t first_row = result_.rows.size();
    for (Placement placement : nodes) {
      const auto binding = bind(placement, plan_.numa, probe_, context_);
      for (const gpu::HostMemory kind : plan_.kinds) measure_kind(kind, placement);
    }
    for (std::size_t i = first_row; i < result_.rows.size(); ++i) add_wire_share(facts_, result_.rows[i]);
    warn_of_device(facts_, context_);
    result_.devices.push_back(facts_);
  }

 private:
  /// Those whose memory is there, on both sides.
  void choose_jobs() {
    const std::uint64_t host = system::usable_memory(probe_) / 4;
    const std::uint64_t own = device_.free_memory() / 10 * 8;
    for (const CopyJob& job : plan_.jobs) {
      if (job.memory() <= std::min(host, own)) jobs_.push_back(job);
    }
    if (jobs_.size() == plan_.jobs.size()) return;
    const std::string limits =
        fmt::format("{} of host memory (a quarter of what is available) or {} of GPU {} (of its free memory)",
                    format_size(host), format_size(own), facts_.device);
    if (jobs_.empty()) throw Error(ErrorCode::no_space, fmt::format("every copy size needs more than {}", limits));
    context_.warn("copies_left_out", fmt::format("{} of {} copies are left out: they need more than {}",
                                                 plan_.jobs.size() - jobs_.size(), plan_.jobs.size(), limits));
  }

  std::uint64_t most_memory(gpu::HostMemory kind) const {
    std::uint64_t most = 0;
    for (const CopyJob& job : jobs_) {
      if (job.kind == kind) most = std::max(most, job.memory());
    }
    return most;
  }

  void measure_kind(gpu::HostMemory kind, const Placement& placement) {
    const std::uint64_t bytes = most_memory(kind);
    if (bytes == 0) return;
    {
      const gpu::DeviceBuffer memory(device_, bytes);
      const gpu::HostBuffer host(device_, kind, bytes);
      for (const CopyJob& job : jobs_) {
        if (job.kind == kind) measure(job, host.bytes(), memory.span(), placement);
      }
    }
    if (!plan_.times_pinning) return;
    if (auto pinning = time_pinning(device_, kind, std::min(bytes, kMostPinned), context_)) {
      pinning->device = facts_.device;
      pinning->numa = placement.location;
      result_.pinning.push_back(*pinning);
    }
  }

  void measure(const CopyJob& job, MutableBytes host, gpu::DeviceSpan memory, const Placement& placement) {
    const auto end = moment_in(plan_.seconds_per_copy);
    CopyTiming timing = time_copies(device_, host, memory, job, ++seed_, context_.stop_token());
    for (unsigned i = 1; i < kMostTimings && std::chrono::steady_clock::now() < end; ++i) {
      const CopyTiming again = time_copies(device_, host, memory, job, ++seed_, context_.stop_token());
      timing.copy_seconds.insert(timing.copy_seconds.end(), again.copy_seconds.begin(), again.copy_seconds.end());
    }
    look_at_link(probe_, monitor_, facts_);
    TransferRow row = timed_row(job, timing, placement);
    row.device = facts_.device;
    result_.rows.push_back(row);
    context_.progress().items.fetch_add(1, std::memory_order_relaxed);
  }

  const TransferPlan& plan_;
  gpu::Device& device_;
  const system::Probe& probe_;
  const gpu::GpuMonitor* monitor_;
  Context& context_;
  TransferResult& result_;
  TransferDevice facts_;
  std::vector<CopyJob> jobs_;
  std::uint64_t seed_ = 0;
};

TransferResult measure_file(const TransferOptions& options, const std::vector<gpu::Device*>& chosen,
                            const TransferMachine& machine, Context& context) {
  if (chosen.size() != 1) throw usage_error("--gds needs one GPU: --device N");
  gpu::Device& device = *chosen.front();
  TransferDevice facts = look_at_device(device.facts(), machine.probe, machine.monitor);
  Placement placement = placements(NumaChoice::automatic, facts.numa_node, machine.probe, context).front();
  const auto binding = bind(placement, NumaChoice::automatic, machine.probe, context);
  TransferResult result;
  result.file =
      transfer_file(*options.gds, system::thread_count(options.threads.value_or(4)), device, machine, context);
  look_at_link(machine.probe, machine.monitor, facts);
  warn_of_device(facts, context);
  result.devices.push_back(facts);
  return result;
}

}  // namespace

void measure_copies(const TransferPlan& plan, gpu::Device& device, const TransferMachine& machine, Context& context,
                    TransferResult& result) {
  DeviceRun(plan, device, machine, context, result).run();
}

TransferResult transfer(const TransferOptions& options, Context& context) {
  plan_transfer(options);  // a wrong option is reported before a missing device
  if (options.gds) check_transfer_file(*options.gds);
  const auto devices = gpu::open_devices();
  const auto monitor = gpu::find_gpu_monitor().monitor;
  const TransferMachine machine{gpu::lent(devices), gpu::open_direct_storage, system::live_probe(), monitor.get()};
  TransferResult result = transfer(options, machine, context);
  warn_of_neighbors(result.neighbors, context);
  return result;
}

TransferResult transfer(const TransferOptions& options, const TransferMachine& machine, Context& context) {
  const TransferPlan plan = plan_transfer(options);
  const auto chosen = chosen_devices(options.device, machine.devices);
  TransferResult result;
  NeighborWatch watch({});
  if (options.gds) {
    result = measure_file(options, chosen, machine, context);
  } else {
    for (gpu::Device* const device : chosen) measure_copies(plan, *device, machine, context, result);
  }
  result.neighbors = watch.so_far();
  result.gpu = result.devices.front().name;
  result.pinned_h2d = best_rate(result, gpu::HostMemory::pinned, CopyDirection::h2d);
  result.pinned_d2h = best_rate(result, gpu::HostMemory::pinned, CopyDirection::d2h);
  result.verdict = transfer_verdict(result);
  return result;
}

void TransferOptions::describe(FieldList& v) {
  v.topic("Copies");
  v.field({"kinds", "kinds of host memory", "pageable,pinned,write-combined,registered"}, kinds);
  v.field({"bytes", "copy sizes, separated by commas; default: powers of 4 from 4KiB to 1GiB", "LIST",
           Misnomers{"batch shape dtype"}},
          bytes);
  v.field({"depth", "copies in flight in each direction, 1 to 8; several values are measured one after the other",
           "LIST", Alias{"streams"}},
          depth);
  v.topic("GPUs");
  v.field({"device", "number of the GPU, or all, one after the other", "N|all"}, device);
  v.field({"numa", "NUMA node of the host memory: local to the GPU, the farthest, or both; auto: local if known"},
          numa);
  v.topic("Files");
  v.field({"gds", "measure how fast this file is read into GPU memory: with cuFile, and by reading and copying",
           Role::input_file},
          gds);
  v.field(system::threads_field("threads that read the file of --gds; default: 4"), threads);
}

void TransferDevice::describe(FieldList& v) {
  v.field({"device", Unit::count, "number of the GPU, as counted by CUDA"}, device);
  v.field({"name", "model"}, name);
  v.field({"memory", Unit::bytes, "memory of the GPU"}, memory);
  v.field({"numa_node", Unit::count, "nearest NUMA node of the host"}, numa_node);
  v.field({"pcie", "PCIe link right after copies"}, pcie);
  v.field({"pcie_generation", Unit::count, "PCIe generation of that link"}, pcie_generation);
  v.field({"max_pcie_generation", Unit::count, "PCIe generation that device and slot support"}, max_pcie_generation);
  v.field({"wire_limit", Unit::bytes_per_second, "lane rate x lanes x line coding, in one direction"}, wire_limit);
  v.field({"payload_limit", Unit::bytes_per_second,
           "wire limit without packet headers: 256 bytes of payload per 24 bytes of header"},
          payload_limit);
  v.field({"max_wire_limit", Unit::bytes_per_second, "wire limit that device and slot support"}, max_wire_limit);
  v.field({"link_source", "source of the link data: the driver (NVML), /sys, or none"}, link_source);
  v.field({"slowdowns", "reasons for throttling right after copies, as named by NVML"}, slowdowns);
}

void TransferRow::describe(FieldList& v) {
  v.field({"device", Unit::count, "number of the GPU"}, device);
  v.field({"kind", "kind of host memory"}, kind);
  v.field({"direction", "h2d: host to device; d2h: device to host; both: at once"}, direction);
  v.field({"bytes", Unit::bytes, "bytes per copy"}, bytes);
  v.field({"streams", Unit::count, "copies in flight in each direction"}, streams);
  v.field({"numa", "NUMA location of the host memory: local, remote, or unbound"}, numa);
  v.field({"numa_node", Unit::count, "NUMA node of the host memory"}, numa_node);
  v.field({"copies", Unit::count, "copies per stream in one measurement"}, copies);
  v.field({"copy_seconds", Unit::seconds, "time of a copy, or of all copies in flight"}, copy_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "median of three measurements; both: sum of the two directions"},
          bytes_per_second);
  v.field({"lowest_bytes_per_second", Unit::bytes_per_second, "slowest of the three"}, lowest_bytes_per_second);
  v.field({"highest_bytes_per_second", Unit::bytes_per_second, "fastest of the three"}, highest_bytes_per_second);
  v.field({"wire_share", Unit::ratio, "share of the link's wire limit; both: share of two directions"}, wire_share);
}

void PinningRow::describe(FieldList& v) {
  v.field({"device", Unit::count, "number of the GPU"}, device);
  v.field({"kind", "kind of host memory"}, kind);
  v.field({"numa", "NUMA location of the memory"}, numa);
  v.field({"bytes", Unit::bytes, "bytes allocated or registered"}, bytes);
  v.field({"prepare_seconds", Unit::seconds,
           "time to allocate pinned memory, or to register existing memory; median of three"},
          prepare_seconds);
  v.field({"release_seconds", Unit::seconds, "time to release it"}, release_seconds);
  v.field({"prepare_seconds_per_gib", "time per GiB to allocate or register"}, prepare_seconds_per_gib);
  v.field({"release_seconds_per_gib", "time per GiB to release"}, release_seconds_per_gib);
}

void FileWay::describe(FieldList& v) {
  v.field({"way", "cufile; or pread: into pinned memory, copied to the GPU while reading"}, way);
  v.field({"direct", "whether reads bypassed the page cache; false: through the cache in its current state"}, direct);
  v.field({"transfer_seconds", Unit::seconds, "time until the last byte was in GPU memory; median of three"},
          transfer_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes divided by that time"}, bytes_per_second);
}

void FileTransfer::describe(FieldList& v) {
  v.field({"path", "path of the file"}, path);
  v.field({"bytes", Unit::bytes, "bytes read from the start of the file, whole pages"}, bytes);
  v.field({"block", Unit::bytes, "bytes per read"}, block);
  v.field({"threads", Unit::count, "reading threads"}, threads);
  v.field({"missing", "why cuFile was not measured"}, missing);
  v.field(
      {"mode", "native: by nvidia-fs; peer-to-peer: by the kernel; compatibility: cuFile read to the host and copied"},
      mode);
  v.field({"registered", "whether the GPU's memory was registered with cuFile"}, registered);
  v.field({"rows", "one row per method"}, rows);
}

void TransferResult::describe(FieldList& v) {
  v.field({"verdict", "the result in one line"}, verdict);
  v.field({"gpu", "model of the first GPU", kCondition}, gpu);
  v.field(
      {"pinned_h2d", Unit::bytes_per_second,
       "the fastest copy of pinned memory to the GPU, not from a remote node; with several GPUs that of the slowest",
       metric(Better::higher)},
      pinned_h2d);
  v.field({"pinned_d2h", Unit::bytes_per_second, "the fastest copy from the GPU", metric(Better::higher)}, pinned_d2h);
  v.field({"devices", "GPUs that were measured"}, devices);
  v.field({"rows", "one row per kind, direction, size and number of streams"}, rows);
  v.field({"pinning", "cost of pinned memory"}, pinning);
  v.field({"file", "from a file to the GPU"}, file);
  v.field({"neighbors", "what other processes used meanwhile"}, neighbors);
}

}  // namespace shardkit::bench
