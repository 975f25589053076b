#include "bench/read/read.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "bench/read/folder_read.hpp"
#include "bench/read/read_options.hpp"
#include "bench/read/read_passes.hpp"
#include "bench/read/store_read.hpp"
#include "core/error.hpp"
#include "stats/summary.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {

namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::usage, text); }

/// Local files as rows of samples of --sample-bytes each.
InputSet in_rows(InputSet input, std::uint64_t sample_bytes) {
  for (InputFile& file : input.files) {
    if (file.is_shard) {
      refuse(fmt::format("--sample-bytes: '{}' is a shard, which says itself where its samples are", file.path));
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
                fmt::format("of {} named none holds {}; name larger files, or leave --block out to read "
                            "samples",
                            format_count(input.files.size(), "file"), format_size(grid_of(options))));
  }
  context.progress().start("listing samples");
  order = std::make_unique<ShuffledSamples>(list_samples(input, std::numeric_limits<std::size_t>::max(), context),
                                            options.seed, most);
  if (order->size() > 0) return order;
  throw Error(ErrorCode::not_found,
              fmt::format("there are no samples in the {} named; --mode sequential reads them all the same",
                          format_count(input.files.size(), "shard")));
}

bool counts_samples(const ReadOptions& options, std::span<const InputFile> files) {
  if (reads_grid(options)) return options.store.sample_bytes.has_value();
  if (options.mode == ReadMode::random || depth_of(options) == 1) return true;
  return std::ranges::all_of(files, [](const InputFile& file) { return file.samples.has_value(); });
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

ReadRepetition repetition_of(const RepetitionRun& run) {
  const ReadTally& total = run.measured.total();
  const stats::LatencyQuantiles latency = total.latency.quantiles();
  return {static_cast<double>(total.bytes) / run.measured.seconds(),
          total.bytes,
          run.measured.seconds(),
          run.passes,
          is_steady(run.measured.timing()),
          latency.p50,
          latency.p99};
}

/// Runs all repetitions; before each but the first the caches are brought into their state again.
std::vector<RepetitionRun> run_repetitions(const ReadPlan& plan, bool is_warm, const std::string& device,
                                           Context& context) {
  std::vector<RepetitionRun> runs;
  while (runs.size() < plan.options.repeat) {
    if (!runs.empty() && !plan.options.direct) prepare_cache(plan.files, plan.options.cache, {}, context);
    runs.push_back(run_repetition(plan, is_warm, device, context));
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
    result.bytes_per_second_interval = rate_interval(all.timing(), result.bytes_per_second);
  } else {
    result.bytes_per_second_interval = RateInterval{summary.low, summary.high};
  }
}

void add_measurement(const ReadPlan& plan, const std::vector<RepetitionRun>& runs, ReadResult& result) {
  ReadMeasurement all;
  result.passes = 0;
  for (const RepetitionRun& run : runs) {
    all.merge(run.measured);
    *result.passes += run.passes;
  }
  const ReadTally& total = all.total();
  add_rates(all, runs, result);
  result.bytes = total.bytes;
  result.operations = total.latency.count();
  result.kernel_reads = total.kernel_reads;
  result.latency = total.latency.quantiles();
  result.latency_histogram = total.latency.steps();
  result.read_seconds = all.seconds();
  result.cpu_seconds = all.timing().cpu_seconds;
  result.device = all.device();
  if (!runs.front().hint.empty()) result.hints.push_back(runs.front().hint);
  if (!plan.counts_samples) return;
  result.samples = total.samples;
  // Of repetitions, at the median's rate.
  const double of_bytes =
      static_cast<double>(total.samples) / static_cast<double>(std::max<std::uint64_t>(total.bytes, 1));
  result.samples_per_second =
      runs.size() > 1 ? result.bytes_per_second * of_bytes : static_cast<double>(total.samples) / all.seconds();
  result.mean_sample =
      total.samples > 0 ? static_cast<double>(total.sample_bytes) / static_cast<double>(total.samples) : 0;
}

void check_counting(const ReadOptions& options, const InputSet& input) {
  if (options.mode != ReadMode::sequential || !options.samples || counts_samples(options, input.files)) return;
  refuse(
      "--samples: at a depth above 1 the samples of shards without an index are not counted; `shardctl index` makes "
      "one, --budget stops by time");
}

ReadResult read_files(const ReadOptions& options, const InputSet& input, Context& context) {
  const bool random = options.mode == ReadMode::random;
  const auto engine = io::make_read_engine(
      engine_of(options),
      {.direct = options.direct, .random = random, .depth = static_cast<unsigned>(depth_of(options))});
  check_counting(options, input);
  const bool disk_is_measured = options.direct || options.cache == CacheRequest::cold;
  const DataOnDisk on_disk = check_on_disk(input.files, disk_is_measured, options.direct, context);
  std::unique_ptr<RandomOrder> order;
  if (random) order = random_order(input, options, context);  // before caches are made cold: it reads headers
  check_read_memory(options, random ? std::min(order->largest(), RandomWork::kMostPerRead) : block_of(options));
  const std::size_t prepared = prepare_cache(input.files, options.cache, options.prepare_seconds, context);
  const auto files = std::span(input.files).first(prepared);
  const ReadPlan plan{files, *engine, options, order.get(), counts_samples(options, files)};
  ReadResult result = describe_run(options, files);
  result.on_disk = on_disk;
  result.cache.residency_before_ratio = residency(files, context);
  result.cache.state = options.direct ? CacheState::direct : cache_state(result.cache, result.storage.storage_class);
  add_measurement(plan, run_repetitions(plan, result.cache.state == CacheState::warm, result.storage.device, context),
                  result);
  result.cache.residency_after_ratio = residency(files, context);
  if (const auto remark = engine->remark()) context.warn("plain_buffers", *remark);
  if (result.samples == 0U) {
    context.warn("no_samples", "samples per second say nothing: " + why_no_samples(options, files, result));
  }
  add_read_hints(options, input, plan, result);
  return result;
}

}  // namespace

ReadResult read(const ReadOptions& options, Context& context) {
  const auto in_stores = std::ranges::count_if(options.paths, lies_in_store);
  if (in_stores > 0 && static_cast<std::size_t>(in_stores) < options.paths.size()) {
    refuse("PATH: some are local, some are behind URLs; measure them apart");
  }
  if (in_stores > 0) return read_store(options, context);
  const ReadOptions full = with_job(options);
  check_read_options(full);
  if (full.mode == ReadMode::imagefolder) return read_folders(full, context);
  return read(full, find_input(options.paths, context), context);
}

ReadResult read(const ReadOptions& options, const InputSet& input, Context& context) {
  const ReadOptions full = with_job(options);
  check_read_options(full);
  if (!full.store.sample_bytes) return read_files(full, input, context);
  return read_files(full, in_rows(input, *full.store.sample_bytes), context);
}

}  // namespace shardkit::bench
