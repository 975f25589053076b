#include "bench/transfer/transfer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/transfer/copy_timer.hpp"
#include "bench/transfer/file_transfer.hpp"
#include "bench/transfer/pcie_limit.hpp"
#include "bench/transfer/pinning.hpp"
#include "bench/transfer/placement.hpp"
#include "bench/transfer/timed_row.hpp"
#include "bench/transfer/transfer_plan.hpp"
#include "bench/transfer/transfer_verdict.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "gpu/devices.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kMostPinned = std::uint64_t{1} << 30U;

/// Measures one GPU, into a result that other GPUs share.
class DeviceRun {
 public:
  DeviceRun(const TransferPlan& plan, const TransferOptions& options, Device& device, const TransferMachine& machine,
            Context& context, TransferResult& result)
      : plan_(plan),
        options_(options),
        device_(device),
        probe_(machine.probe),
        monitor_(machine.monitor),
        context_(context),
        result_(result),
        facts_(look_at_device(device.facts(), probe_, monitor_)) {}

  void run() {
    choose_jobs();
    const auto places = placements(options_.numa, facts_.numa_node, probe_, context_);
    context_.progress().start("copying", jobs_.size() * places.size());
    const std::size_t first_row = result_.rows.size();
    for (Placement place : places) {
      const auto binding = bind(place, options_.numa, probe_, context_);
      for (const HostMemory kind : plan_.kinds) measure_kind(kind, place);
    }
    for (std::size_t i = first_row; i < result_.rows.size(); ++i) add_wire_share(facts_, result_.rows[i]);
    warn_of_device(facts_, context_);
    result_.devices.push_back(facts_);
  }

 private:
  /// Those whose memory is there, on both sides.
  void choose_jobs() {
    const std::uint64_t host = usable_memory(probe_) / 4;
    const std::uint64_t own = device_.free_memory() / 10 * 8;
    for (const CopyJob& job : plan_.jobs) {
      if (job.memory() <= std::min(host, own)) jobs_.push_back(job);
    }
    if (jobs_.size() == plan_.jobs.size()) return;
    const std::string limits = fmt::format(
        "{} of host memory (a quarter of what this process may use) or {} of GPU "
        "{}'s (of what is free there)",
        format_size(host), format_size(own), facts_.device);
    if (jobs_.empty()) throw Error(ErrorCode::no_space, fmt::format("every copy asked for needs more than {}", limits));
    context_.warn("copies_left_out", fmt::format("{} of {} copies are left out: they need more than {}",
                                                 plan_.jobs.size() - jobs_.size(), plan_.jobs.size(), limits));
  }

  std::uint64_t most_memory(HostMemory kind) const {
    std::uint64_t most = 0;
    for (const CopyJob& job : jobs_) {
      if (job.kind == kind) most = std::max(most, job.memory());
    }
    return most;
  }

  void measure_kind(HostMemory kind, const Placement& place) {
    const std::uint64_t bytes = most_memory(kind);
    if (bytes == 0) return;
    {
      const DeviceBuffer memory(device_, bytes);
      const HostBuffer host(device_, kind, bytes);
      for (const CopyJob& job : jobs_) {
        if (job.kind == kind) measure(job, host.bytes(), memory.span(), place);
      }
    }
    if (auto pinning = time_pinning(device_, kind, std::min(bytes, kMostPinned), context_)) {
      pinning->device = facts_.device;
      pinning->numa = place.place;
      result_.pinning.push_back(*pinning);
    }
  }

  void measure(const CopyJob& job, MutableBytes host, DeviceSpan memory, const Placement& place) {
    const CopyTiming timing = time_copies(device_, host, memory, job, ++seed_, context_.stop_token());
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
  const TransferOptions& options_;
  Device& device_;
  const Probe& probe_;
  const GpuMonitor* monitor_;
  Context& context_;
  TransferResult& result_;
  TransferDevice facts_;
  std::vector<CopyJob> jobs_;
  std::uint64_t seed_ = 0;
};

TransferResult measure_file(const TransferOptions& options, const std::vector<Device*>& chosen,
                            const TransferMachine& machine, Context& context) {
  if (chosen.size() != 1) throw Error(ErrorCode::usage, "--gds takes one GPU: --device N");
  Device& device = *chosen.front();
  TransferDevice facts = look_at_device(device.facts(), machine.probe, machine.monitor);
  Placement place = placements(NumaChoice::automatic, facts.numa_node, machine.probe, context).front();
  const auto binding = bind(place, NumaChoice::automatic, machine.probe, context);
  TransferResult result;
  result.file = transfer_file(*options.gds, thread_count(options.threads.value_or(4)), device, machine, context);
  look_at_link(machine.probe, machine.monitor, facts);
  warn_of_device(facts, context);
  result.devices.push_back(facts);
  return result;
}

}  // namespace

TransferResult transfer(const TransferOptions& options, Context& context) {
  plan_transfer(options);  // a slip in the options is told before what the machine lacks
  if (options.gds) check_transfer_file(*options.gds);
  const auto devices = open_devices();
  const auto monitor = find_gpu_monitor();
  const TransferMachine machine{lent(devices), open_direct_storage, live_probe(), monitor.get()};
  return transfer(options, machine, context);
}

TransferResult transfer(const TransferOptions& options, const TransferMachine& machine, Context& context) {
  const TransferPlan plan = plan_transfer(options);
  const auto chosen = chosen_devices(options.device, machine.devices);
  TransferResult result;
  if (options.gds) {
    result = measure_file(options, chosen, machine, context);
  } else {
    for (Device* const device : chosen) {
      DeviceRun(plan, options, *device, machine, context, result).run();
    }
  }
  result.gpu = result.devices.front().name;
  result.pinned_h2d = best_rate(result, HostMemory::pinned, CopyDirection::h2d);
  result.pinned_d2h = best_rate(result, HostMemory::pinned, CopyDirection::d2h);
  result.verdict = transfer_verdict(result);
  return result;
}

}  // namespace shardkit
