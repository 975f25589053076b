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
    const auto places = placements(plan_.numa, facts_.numa_node, probe_, context_);
    context_.progress().start("copying", jobs_.size() * places.size());
    const std::size_t first_row = result_.rows.size();
    for (Placement place : places) {
      const auto binding = bind(place, plan_.numa, probe_, context_);
      for (const gpu::HostMemory kind : plan_.kinds) measure_kind(kind, place);
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
    const std::string limits = fmt::format(
        "{} of host memory (a quarter of what this process may use) or {} of GPU {}'s (of what is free there)",
        format_size(host), format_size(own), facts_.device);
    if (jobs_.empty()) throw Error(ErrorCode::no_space, fmt::format("every copy asked for needs more than {}", limits));
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

  void measure_kind(gpu::HostMemory kind, const Placement& place) {
    const std::uint64_t bytes = most_memory(kind);
    if (bytes == 0) return;
    {
      const gpu::DeviceBuffer memory(device_, bytes);
      const gpu::HostBuffer host(device_, kind, bytes);
      for (const CopyJob& job : jobs_) {
        if (job.kind == kind) measure(job, host.bytes(), memory.span(), place);
      }
    }
    if (!plan_.times_pinning) return;
    if (auto pinning = time_pinning(device_, kind, std::min(bytes, kMostPinned), context_)) {
      pinning->device = facts_.device;
      pinning->numa = place.place;
      result_.pinning.push_back(*pinning);
    }
  }

  void measure(const CopyJob& job, MutableBytes host, gpu::DeviceSpan memory, const Placement& place) {
    const auto end = moment_in(plan_.seconds_per_copy);
    CopyTiming timing = time_copies(device_, host, memory, job, ++seed_, context_.stop_token());
    for (unsigned i = 1; i < kMostTimings && std::chrono::steady_clock::now() < end; ++i) {
      const CopyTiming again = time_copies(device_, host, memory, job, ++seed_, context_.stop_token());
      timing.copy_seconds.insert(timing.copy_seconds.end(), again.copy_seconds.begin(), again.copy_seconds.end());
    }
    look_at_link(probe_, monitor_, facts_);
    TransferRow row = timed_row(job, timing, place);
    row.device = facts_.device;
    if (plan_.samples) {
      row.samples_per_second = static_cast<double>(*plan_.samples * job.lanes()) / row.copy_seconds;
    }
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
  if (chosen.size() != 1) throw Error(ErrorCode::usage, "--gds takes one GPU: --device N");
  gpu::Device& device = *chosen.front();
  TransferDevice facts = look_at_device(device.facts(), machine.probe, machine.monitor);
  Placement place = placements(NumaChoice::automatic, facts.numa_node, machine.probe, context).front();
  const auto binding = bind(place, NumaChoice::automatic, machine.probe, context);
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
  plan_transfer(options);  // a slip in the options is told before what the machine lacks
  if (options.gds) check_transfer_file(*options.gds);
  const auto devices = gpu::open_devices();
  const auto monitor = gpu::find_gpu_monitor().monitor;
  const TransferMachine machine{gpu::lent(devices), gpu::open_direct_storage, system::live_probe(), monitor.get()};
  return transfer(options, machine, context);
}

TransferResult transfer(const TransferOptions& options, const TransferMachine& machine, Context& context) {
  const TransferPlan plan = plan_transfer(options);
  const auto chosen = chosen_devices(options.device, machine.devices);
  TransferResult result;
  if (options.gds) {
    result = measure_file(options, chosen, machine, context);
  } else {
    for (gpu::Device* const device : chosen) measure_copies(plan, *device, machine, context, result);
  }
  result.gpu = result.devices.front().name;
  result.pinned_h2d = best_rate(result, gpu::HostMemory::pinned, CopyDirection::h2d);
  result.pinned_d2h = best_rate(result, gpu::HostMemory::pinned, CopyDirection::d2h);
  result.verdict = transfer_verdict(result);
  return result;
}

void TransferOptions::describe(FieldVisitor& v) {
  v.field({"kinds", "kinds of host memory, separated by commas", "LIST"}, kinds);
  v.field({"directions", "h2d (host to device), d2h, both at once; separated by commas", "LIST"}, directions);
  v.field({"bytes", "sizes of a copy, separated by commas; default: powers of 4 from 4KiB to 1GiB", "LIST"}, bytes);
  v.field(
      {"streams", "copies in flight at once in each direction, 1 to 8; several values are measured in turn", "LIST"},
      streams);
  v.field({"batch", Unit::count, "samples of a batch: copies have the size of one, in place of --bytes"}, batch);
  v.field({"shape", "with --batch, of a sample: its sides; 3x224x224", "CxHxW"}, shape);
  v.field({"dtype", "with --batch, of a value"}, dtype);
  v.field({"device", "number of the GPU, or all, one after the other", "N|all"}, device);
  v.field({"numa",
           "NUMA node that host memory comes from: the GPU's own, the farthest, or each in turn; auto: its own where "
           "that is known"},
          numa);
  v.field(
      {"gds", "measure how fast this file comes to the GPU: by cuFile, and by reading and copying", Role::input_file},
      gds);
  v.field({"threads", Unit::count, "threads that read the file of --gds; 4", between(1, system::kMostThreads)},
          threads);
}

void TransferDevice::describe(FieldVisitor& v) {
  v.field({"device", Unit::count, "number of the GPU, as CUDA counts"}, device);
  v.field({"name", "model"}, name);
  v.field({"memory", Unit::bytes, "its memory"}, memory);
  v.field({"numa_node", Unit::count, "NUMA node of the host that is nearest"}, numa_node);
  v.field({"pcie", "its link right after copies"}, pcie);
  v.field({"pcie_generation", Unit::count, "of that link"}, pcie_generation);
  v.field({"max_pcie_generation", Unit::count, "that device and slot can do"}, max_pcie_generation);
  v.field({"wire_limit", Unit::bytes_per_second, "rate of a lane x lanes x line coding, in one direction"}, wire_limit);
  v.field({"payload_limit", Unit::bytes_per_second,
           "of that what is left for bytes, in packets of 256 bytes with 24 bytes around each"},
          payload_limit);
  v.field({"max_wire_limit", Unit::bytes_per_second, "wire limit of what device and slot can do"}, max_wire_limit);
  v.field({"link_source", "who told of the link: the GPU's driver (NVML), /sys, or none"}, link_source);
  v.field({"slowdowns", "what slowed the GPU down right after copies, by NVML's names"}, slowdowns);
}

void TransferRow::describe(FieldVisitor& v) {
  v.field({"device", Unit::count, "number of the GPU"}, device);
  v.field({"kind", "kind of host memory"}, kind);
  v.field({"direction", "h2d: host to device; d2h: back; both: at once"}, direction);
  v.field({"bytes", Unit::bytes, "of one copy"}, bytes);
  v.field({"streams", Unit::count, "copies in flight at once in each direction"}, streams);
  v.field({"numa", "where the host memory lies: local, remote, or unbound"}, numa);
  v.field({"numa_node", Unit::count, "the node that is"}, numa_node);
  v.field({"copies", Unit::count, "copies of each stream that one measurement took"}, copies);
  v.field({"copy_seconds", Unit::seconds, "time of a copy, or of as many as are in flight at once"}, copy_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "median of three measurements; both: the two directions' sum"},
          bytes_per_second);
  v.field({"lowest_bytes_per_second", Unit::bytes_per_second, "the slowest of the three"}, lowest_bytes_per_second);
  v.field({"highest_bytes_per_second", Unit::bytes_per_second, "the fastest of the three"}, highest_bytes_per_second);
  v.field({"wire_share", Unit::ratio, "share of the link's wire limit; both: of the two directions' sum"}, wire_share);
  v.field({"samples_per_second", Unit::per_second, "with --batch"}, samples_per_second);
}

void PinningRow::describe(FieldVisitor& v) {
  v.field({"device", Unit::count, "number of the GPU"}, device);
  v.field({"kind", "kind of host memory"}, kind);
  v.field({"numa", "where it lies"}, numa);
  v.field({"bytes", Unit::bytes, "that were prepared"}, bytes);
  v.field(
      {"prepare_seconds", Unit::seconds, "to allocate pinned memory, or to register what is there; median of three"},
      prepare_seconds);
  v.field({"release_seconds", Unit::seconds, "to give that back"}, release_seconds);
  v.field({"prepare_seconds_per_gib", "seconds per GiB"}, prepare_seconds_per_gib);
  v.field({"release_seconds_per_gib", "seconds per GiB"}, release_seconds_per_gib);
}

void FileWay::describe(FieldVisitor& v) {
  v.field({"way", "cufile, or pread: into pinned memory, and copied from there meanwhile"}, way);
  v.field({"direct", "past the page cache; false: whatever that held"}, direct);
  v.field({"transfer_seconds", Unit::seconds, "until the last byte was there; median of three"}, transfer_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over that time"}, bytes_per_second);
}

void FileTransfer::describe(FieldVisitor& v) {
  v.field({"path", "the file"}, path);
  v.field({"bytes", Unit::bytes, "from its beginning that were brought to the GPU, whole pages"}, bytes);
  v.field({"block", Unit::bytes, "bytes per read"}, block);
  v.field({"threads", Unit::count, "reading threads"}, threads);
  v.field({"missing", "why cuFile was not measured"}, missing);
  v.field({"mode",
           "native: nvidia-fs brought the bytes; peer-to-peer: the kernel did; compatibility: cuFile read to the host "
           "and copied"},
          mode);
  v.field({"registered", "the GPU's memory was registered with cuFile"}, registered);
  v.field({"rows", "each way"}, rows);
}

void TransferResult::describe(FieldVisitor& v) {
  v.field({"verdict", "the result in one line"}, verdict);
  v.field({"gpu", "model of the first GPU", kCondition}, gpu);
  v.field({"pinned_h2d", Unit::bytes_per_second,
           "the fastest row of pinned memory to the GPU, not from a remote node; of several GPUs the slowest one's",
           metric(Better::higher)},
          pinned_h2d);
  v.field({"pinned_d2h", Unit::bytes_per_second, "the same from the GPU", metric(Better::higher)}, pinned_d2h);
  v.field({"devices", "GPUs that were measured"}, devices);
  v.field({"rows", "each kind, direction, size and number of streams"}, rows);
  v.field({"pinning", "what it costs to have memory that is pinned"}, pinning);
  v.field({"file", "from a file to the GPU"}, file);
}

}  // namespace shardkit::bench
