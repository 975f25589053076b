#include "bench/read/read.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "bench/read/read_options.hpp"
#include "bench/read/read_work.hpp"
#include "bench/read/store_read.hpp"
#include "core/error.hpp"
#include "core/remedies.hpp"
#include "stats/summary.hpp"

namespace shardkit::bench {

void ReadMeasurement::add(const Timing& pass, const std::vector<ReadTally>& tallies,
                          const std::optional<system::DiskCounters>& before,
                          const std::optional<system::DiskCounters>& after) {
  for (const ReadTally& tally : tallies) total.merge(tally);
  timing.seconds += pass.seconds;
  timing.cpu_seconds += pass.cpu_seconds;
  timing.rates.insert(timing.rates.end(), pass.rates.begin(), pass.rates.end());
  if (!before || !after) device.reset();
  if (!device) return;
  device->reads += after->reads - before->reads;
  device->read_bytes += after->read_bytes - before->read_bytes;
  device->read_wait_seconds += after->read_wait_seconds - before->read_wait_seconds;
  device->queue_seconds += after->queue_seconds - before->queue_seconds;
}

std::optional<DeviceActivity> ReadMeasurement::device_activity() const {
  if (!device || device->reads == 0) return std::nullopt;
  const auto reads = static_cast<double>(device->reads);
  const auto bytes = static_cast<double>(device->read_bytes);
  return DeviceActivity{device->read_bytes,
                        bytes / timing.seconds,
                        reads / timing.seconds,
                        bytes / reads,
                        device->read_wait_seconds / reads,
                        device->queue_seconds / timing.seconds};
}

void ReadMeasurement::add_totals(ReadResult& result) const {
  result.bytes = total.bytes;
  result.operations = total.latency.count();
  result.kernel_reads = total.kernel_reads;
  result.latency = total.latency.quantiles();
  result.latency_histogram = total.latency.steps();
  result.read_seconds = timing.seconds;
  result.cpu_seconds = timing.cpu_seconds;
  result.device = device_activity();
  if (total.unpack_cpu_seconds > 0 && total.samples > 0) {
    result.unpack_cpu_seconds_per_sample = total.unpack_cpu_seconds / static_cast<double>(total.samples);
  }
}

namespace {

/// Local files as rows of samples of --sample-bytes each.
InputSet in_rows(InputSet input, std::uint64_t sample_bytes) {
  for (InputFile& file : input.files) {
    if (file.is_shard) {
      throw usage_error("--sample-bytes: '{}' is a shard, which has samples of its own; leave the option out",
                        file.path);
    }
    file.samples = file.bytes / sample_bytes;
  }
  return input;
}

std::unique_ptr<RandomOrder> random_order(const InputSet& input, const ReadOptions& options, Context& context) {
  const std::uint64_t most = options.samples.value_or(std::numeric_limits<std::uint64_t>::max());
  std::unique_ptr<RandomOrder> order;
  if (reads_grid(options)) {
    order = std::make_unique<GridOrder>(input.files, grid_of(options), options.seed, most);
    if (order->size() > 0) return order;
    throw Error(ErrorCode::not_found,
                fmt::format("none of {} given contains {}; choose larger files, or leave out --block to read samples",
                            format_count(input.files.size(), "file"), format_size(grid_of(options))));
  }
  context.progress().start("listing samples");
  order = std::make_unique<ShuffledSamples>(list_samples(input, std::numeric_limits<std::size_t>::max(), context),
                                            options.seed, most);
  if (order->size() > 0) return order;
  throw Error(ErrorCode::not_found, fmt::format("found no samples in the {} given; --mode sequential reads them anyway",
                                                format_count(input.files.size(), "shard")));
}

bool counts_samples(const ReadOptions& options, std::span<const InputFile> files) {
  if (reads_grid(options)) return options.sample_bytes.has_value();
  if (options.mode == ReadMode::random || depth_of(options) == 1) return true;
  return samples_of(files).has_value();
}

ReadResult describe_run(const ReadOptions& options, std::span<const InputFile> files) {
  ReadResult result;
  result.mode = options.mode;
  if (options.job) result.job = describe_job(options);
  result.engine = enum_name(engine_of(options));
  result.direct = options.direct;
  result.threads = threads_of(options);
  result.depth = depth_of(options);
  result.block = block_of(options);
  result.files = files.size();
  result.cache.requested = options.cache;
  result.storage = system::storage_of(files.front().path);
  if (const std::string fio = fio_command(options, files); !fio.empty()) result.fio = fio;
  return result;
}

struct RepetitionRun {
  ReadMeasurement measured;
  std::uint64_t passes = 0;
  std::string hint;  ///< of the work; empty for none
};

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
  Timing timing =
      timed_run_prepared(static_cast<unsigned>(threads), prepare, context.progress().bytes, context.stop_token());
  // Reads that arrived later, such as behind much read-ahead of a slow disk, do not count, so their time does not
  // either.
  if (work->counted_in_time()) cut(timing, *limits.most_seconds);
  run.measured.add(timing, tallies, before, system::read_disk_counters(device));
  if (run.measured.total.bytes == 0) context.throw_if_stopped();
  run.hint = work->hint(threads);
  ++run.passes;
}

/// A pass ends by time, after its samples, or at the end of the files.
void start_progress(const ReadPlan& plan, const ReadLimits& limits, Progress& progress) {
  std::uint64_t samples = plan.order != nullptr ? plan.order->size() : limits.samples.value_or(0);
  std::uint64_t bytes = 0;
  for (const InputFile& file : plan.files) bytes += samples == 0 ? file.bytes : 0;
  if (limits.least_seconds > 0) samples = bytes = 0;  // they come again
  progress.start("reading", samples, bytes, plan.counts_samples ? "samples" : "");
  progress.budget_seconds = limits.most_seconds.value_or(limits.least_seconds);
}

/// One repetition. The caches are in the requested state at its start; before further passes of cold reads they are
/// dropped again, which is not timed. Reads that may not be repeated (may_read_again()) end after one pass, unless
/// `is_warm`: everything was in memory.
RepetitionRun run_repetition(const ReadPlan& plan, bool is_warm, const std::string& device, Context& context) {
  const ReadOptions& options = plan.options;
  const double least = options.min_time.value_or(0);
  const bool drops = !options.direct && options.cache == CacheRequest::cold;
  const bool goes_round = !drops && (is_warm || may_read_again(options));
  RepetitionRun run;
  double preparing = 0;
  while (true) {
    ReadLimits limits{options.samples, {}, goes_round ? least : 0};
    if (options.budget) limits.most_seconds = std::max(*options.budget - run.measured.timing.seconds, 0.0);
    start_progress(plan, limits, context.progress());
    run_pass(plan, limits, device, context, run);
    const bool over = options.budget && run.measured.timing.seconds >= *options.budget;
    if (context.stop_token().stop_requested()) return run;
    if (!drops || over || run.measured.timing.seconds >= least) return run;
    if (options.prepare_seconds && preparing >= *options.prepare_seconds) return run;
    const auto start = std::chrono::steady_clock::now();
    prepare_cache(plan.files, CacheRequest::cold, {}, context);
    preparing += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
}

ReadRepetition repetition_of(const RepetitionRun& run) {
  const ReadTally& total = run.measured.total;
  const stats::LatencyQuantiles latency = total.latency.quantiles();
  return {static_cast<double>(total.bytes) / run.measured.timing.seconds,
          total.bytes,
          run.measured.timing.seconds,
          run.passes,
          is_steady(run.measured.timing),
          latency.p50,
          latency.p99};
}

/// Runs all repetitions, after a stop those before it; before each but the first the caches are brought into their
/// state again.
std::vector<RepetitionRun> run_repetitions(const ReadPlan& plan, bool is_warm, const std::string& device,
                                           Context& context) {
  std::vector<RepetitionRun> runs;
  while (runs.size() < plan.options.repeat && (runs.empty() || !context.stop_token().stop_requested())) {
    try {
      if (!runs.empty() && !plan.options.direct) prepare_cache(plan.files, plan.options.cache, {}, context);
      runs.push_back(run_repetition(plan, is_warm, device, context));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::cancelled || runs.empty()) throw;
    }
  }
  return runs;
}

void add_rates(const ReadMeasurement& all, const std::vector<RepetitionRun>& runs, ReadResult& result) {
  std::vector<double> rates;
  result.steady = true;
  for (const RepetitionRun& run : runs) {
    const ReadRepetition repetition = repetition_of(run);
    rates.push_back(repetition.bytes_per_second);
    result.steady = are_steady(result.steady, repetition.steady);
    if (runs.size() > 1) result.repetitions.push_back(repetition);
  }
  const stats::Summary summary = stats::summarize(rates);
  result.bytes_per_second = summary.median;
  if (runs.size() == 1) {
    result.bytes_per_second_interval = rate_interval(all.timing, result.bytes_per_second);
  } else {
    result.bytes_per_second_interval = summary.interval();
  }
}

void add_measurement(const ReadPlan& plan, const std::vector<RepetitionRun>& runs, ReadResult& result) {
  ReadMeasurement all;
  result.passes = 0;
  for (const RepetitionRun& run : runs) {
    const ReadMeasurement& measured = run.measured;
    all.add(measured.timing, {measured.total}, system::DiskCounters{}, measured.device);
    *result.passes += run.passes;
  }
  const ReadTally& total = all.total;
  add_rates(all, runs, result);
  all.add_totals(result);
  if (!runs.front().hint.empty()) result.hints.push_back(runs.front().hint);
  if (!plan.counts_samples) return;
  result.samples = total.samples;
  // With repetitions: at the median rate.
  const double of_bytes =
      static_cast<double>(total.samples) / static_cast<double>(std::max<std::uint64_t>(total.bytes, 1));
  result.samples_per_second =
      runs.size() > 1 ? result.bytes_per_second * of_bytes : static_cast<double>(total.samples) / all.timing.seconds;
  result.mean_sample =
      total.samples > 0 ? static_cast<double>(total.sample_bytes) / static_cast<double>(total.samples) : 0;
}

void check_counting(const ReadOptions& options, const InputSet& input) {
  if (options.mode != ReadMode::sequential || !options.samples || counts_samples(options, input.files)) return;
  throw usage_error("--samples: {}, or use --budget", why_not_counted(options, input.files));
}

/// Of the time for preparing caches, for each question about the files.
constexpr double kShareForAsking = 0.25;

ReadResult read_files(const ReadOptions& options, const InputSet& input, Context& context) {
  const bool random = options.mode == ReadMode::random;
  if (random) refuse_compressed(input, "in random order (--mode sequential reads it)");
  if (options.direct) refuse_compressed(input, "with --direct");
  const auto engine = io::make_read_engine(
      engine_of(options),
      {.direct = options.direct, .random = random, .depth = static_cast<unsigned>(depth_of(options))});
  check_counting(options, input);
  const bool disk_is_measured = options.direct || options.cache == CacheRequest::cold;
  const double asking = asking_seconds(options.prepare_seconds, kShareForAsking);
  const DataOnDisk on_disk = check_on_disk(input.files, disk_is_measured, options.direct, context, asking);
  std::unique_ptr<RandomOrder> order;
  if (random) order = random_order(input, options, context);  // before caches are made cold: it reads headers
  check_read_memory(options, random ? std::min(order->largest(), RandomWork::kMostPerRead) : block_of(options));
  const std::size_t prepared = prepare_cache(input.files, options.cache, options.prepare_seconds, context);
  const auto files = std::span(input.files).first(prepared);
  const ReadPlan plan{files, *engine, options, order.get(), counts_samples(options, files)};
  ReadResult result = describe_run(options, files);
  result.on_disk = on_disk;
  result.cache.residency_before_ratio = residency(files, asking);
  result.cache.state = options.direct ? CacheState::direct : cache_state(result.cache, result.storage.storage_class);
  NeighborWatch watch(result.storage);
  const auto runs = run_repetitions(plan, result.cache.state == CacheState::warm, result.storage.device, context);
  result.neighbors = watch.so_far();
  add_measurement(plan, runs, result);
  result.interrupted = context.stop_token().stop_requested();
  if (!result.interrupted) result.cache.residency_after_ratio = residency(files, asking);
  if (const auto remark = engine->remark()) context.warn("plain_buffers", *remark);
  if (result.samples == 0U && !options.prepare_seconds) {  // of which `run` makes an error
    context.warn("no_samples", "no samples per second: " + why_no_samples(options, files, result));
  }
  add_read_hints(options, input, plan, result);
  return result;
}

ReadResult warned(ReadResult result, Context& context) {
  warn_of_neighbors(result.neighbors, context);
  return result;
}

}  // namespace

ReadResult read(const ReadOptions& options, Context& context) {
  if (std::ranges::none_of(options.paths, catalog::is_address)) {
    const ReadOptions full = with_job(options);
    if (full.mode == ReadMode::imagefolder) {
      check_read_options(full);
      return warned(read_folders(full, context), context);
    }
  }
  StoreReader reader(options, context);
  const InputSet input = reader.find();
  return warned(has_objects(input.files) ? reader.read(input) : read(options, input, context), context);
}

ReadResult read(const ReadOptions& options, const InputSet& input, Context& context) {
  const ReadOptions full = with_job(options);
  check_read_options(full);
  if (!full.sample_bytes) return read_files(full, input, context);
  return read_files(full, in_rows(input, *full.sample_bytes), context);
}

}  // namespace shardkit::bench
