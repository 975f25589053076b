#include "bench/read/read_passes.hpp"

#include <algorithm>
#include <chrono>

#include "bench/read/read_options.hpp"
#include "bench/timing/timed_run.hpp"

namespace shardkit::bench {
namespace {

std::unique_ptr<ReadWork> make_work(const ReadPlan& plan, const ReadLimits& limits, Context& context) {
  if (plan.order == nullptr) {
    return std::make_unique<SequentialWork>(plan.files, plan.engine, block_of(plan.options), limits, context);
  }
  return std::make_unique<RandomWork>(plan.files, plan.engine, *plan.order, plan.counts_samples,
                                      reads_grid(plan.options), limits, context);
}

void run_pass(const ReadPlan& plan, const ReadLimits& limits, const std::string& device, Context& context,
              RepetitionRun& run) {
  const auto work = make_work(plan, limits, context);
  const std::uint64_t threads = threads_of(plan.options);
  std::vector<ReadTally> tallies(threads);
  const auto before = system::read_disk_counters(device);
  const auto prepare = [&](unsigned thread) -> TimedWork {
    return [&work, &tally = tallies[thread], lane = std::shared_ptr(work->prepare())](const std::stop_token& stop) {
      work->run(*lane, tally, stop);
    };
  };
  const Timing timing =
      timed_run_prepared(static_cast<unsigned>(threads), prepare, context.progress().bytes, context.stop_token());
  context.throw_if_stopped();
  run.measured.add(timing, tallies);
  run.measured.add_device(before, system::read_disk_counters(device));
  run.hint = work->hint(threads);
  ++run.passes;
}

}  // namespace

void ReadMeasurement::add(const Timing& timing, const std::vector<ReadTally>& tallies) {
  for (const ReadTally& tally : tallies) total_.merge(tally);
  timing_.seconds += timing.seconds;
  timing_.cpu_seconds += timing.cpu_seconds;
  timing_.rates.insert(timing_.rates.end(), timing.rates.begin(), timing.rates.end());
}

void ReadMeasurement::add_device(const std::optional<system::DiskCounters>& before,
                                 const std::optional<system::DiskCounters>& after) {
  if (!before || !after) {
    device_known_ = false;
    return;
  }
  device_.reads += after->reads - before->reads;
  device_.read_bytes += after->read_bytes - before->read_bytes;
  device_.read_wait_seconds += after->read_wait_seconds - before->read_wait_seconds;
  device_.queue_seconds += after->queue_seconds - before->queue_seconds;
}

void ReadMeasurement::merge(const ReadMeasurement& other) {
  add(other.timing_, {other.total_});
  device_known_ = device_known_ && other.device_known_;
  add_device(system::DiskCounters{}, other.device_);
}

std::optional<DeviceActivity> ReadMeasurement::device() const {
  if (!device_known_ || device_.reads == 0) return std::nullopt;
  const auto reads = static_cast<double>(device_.reads);
  const auto bytes = static_cast<double>(device_.read_bytes);
  return DeviceActivity{device_.read_bytes,
                        bytes / seconds(),
                        reads / seconds(),
                        bytes / reads,
                        device_.read_wait_seconds / reads,
                        device_.queue_seconds / seconds()};
}

RepetitionRun run_repetition(const ReadPlan& plan, bool is_warm, const std::string& device, Context& context) {
  const ReadOptions& options = plan.options;
  const double least = options.min_time.value_or(0);
  const bool drops = !options.direct && options.cache == CacheRequest::cold;
  const bool goes_round = !drops && (is_warm || may_read_again(options));
  RepetitionRun run;
  double preparing = 0;
  while (true) {
    ReadLimits limits{options.samples, {}, goes_round ? least : 0};
    if (options.budget) limits.most_seconds = std::max(*options.budget - run.measured.seconds(), 0.0);
    context.progress().start("reading", plan.order != nullptr ? plan.order->size() : 0);
    run_pass(plan, limits, device, context, run);
    const bool over = options.budget && run.measured.seconds() >= *options.budget;
    if (!drops || over || run.measured.seconds() >= least) return run;
    if (options.prepare_seconds && preparing >= *options.prepare_seconds) return run;
    const auto start = std::chrono::steady_clock::now();
    prepare_cache(plan.files, CacheRequest::cold, {}, context);
    preparing += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
}

}  // namespace shardkit::bench
