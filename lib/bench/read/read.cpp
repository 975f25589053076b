#include "bench/read/read.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "bench/read/random_work.hpp"
#include "bench/read/read_hints.hpp"
#include "bench/read/read_options.hpp"
#include "bench/read/read_passes.hpp"
#include "bench/read/store_objects.hpp"
#include "bench/read/store_read.hpp"
#include "core/error.hpp"
#include "stats/summary.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {

std::vector<LatencyStep> latency_steps(const stats::LatencyHistogram& latency) {
  std::vector<LatencyStep> steps;
  for (const stats::LogHistogram::Octave& octave : latency.octaves()) {
    steps.push_back({static_cast<double>(octave.from) * 1e-9, static_cast<double>(octave.to) * 1e-9, octave.count});
  }
  return steps;
}

void LatencyStep::describe(FieldVisitor& v) {
  v.field({"from", Unit::seconds, "at least so long"}, from);
  v.field({"to", Unit::seconds, "at most so long"}, to);
  v.field({"count", Unit::count, "reads"}, count);
}

void DeviceActivity::describe(FieldVisitor& v) {
  v.field({"read_bytes", Unit::bytes, "bytes read from the device"}, read_bytes);
  v.field({"read_bytes_per_second", Unit::bytes_per_second, "the same over time"}, read_bytes_per_second);
  v.field({"requests_per_second", Unit::per_second, "requests answered"}, requests_per_second);
  v.field({"mean_request", Unit::bytes, "mean size of a request"}, mean_request);
  v.field({"mean_wait", Unit::seconds, "mean time from request to answer"}, mean_wait);
  v.field({"mean_queue", "mean number of requests under way"}, mean_queue);
}

void ReadRepetition::describe(FieldVisitor& v) {
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over time"}, bytes_per_second);
  v.field({"bytes", Unit::bytes, "bytes read"}, bytes);
  v.field({"read_seconds", Unit::seconds, "time they took"}, read_seconds);
  v.field({"passes", Unit::count, "times that caches were made ready and the data read"}, passes);
  v.field(
      {"steady",
       "false when the rate drifted by more than a tenth from start to end; null: less than 1 s, too short to tell"},
      steady);
  v.field({"p50", Unit::seconds, "half of the reads took no longer"}, p50);
  v.field({"p99", Unit::seconds, "99 of 100 took no longer"}, p99);
}

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
  result.engine = engine_of(options);
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
  result.latency_histogram = latency_steps(total.latency);
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

void ReadOptions::describe(FieldVisitor& v) {
  v.field({"PATH",
           "shards, files, or folders of either; or URLs: s3://bucket/prefix, http(s)://host/file, patterns and lists "
           "of them",
           Role::positional, kMayDiffer},
          paths);
  v.field({"mode",
           "whole files in blocks; samples in random order (blocks with --block); or folders of images, each call "
           "timed apart"},
          mode);
  v.field({"job", "read as the fio job of this name: seq-read or rand-read; other options change it", "NAME"}, job);
  v.field(
      {"threads", Unit::count,
       "threads that read; default: as many as the process may keep cores busy; of a store the most connections, 64",
       between(1, system::kMostThreads)},
      threads);
  v.field({"block", Unit::bytes, "bytes per read; sequential default: 256KiB, of a store 8MiB; random: samples without",
           between(512, 1U << 30U)},
          block);
  v.field({"engine", "how files are read: pread (default), mmap or uring", "NAME"}, engine);
  v.field({"depth", Unit::count, "reads in flight of each thread; default of engine uring 32, of others always 1",
           between(1, 4096)},
          depth);
  v.field({"direct", "read past the page cache (O_DIRECT)"}, direct);
  v.field({"cache", "state of the page cache to start from; fails when it cannot be had", kMayDiffer}, cache);
  v.field({"samples", Unit::count, "stop after this many samples", kMayDiffer, at_least(1)}, samples);
  v.field({"budget", Unit::seconds, "stop after this time; of a store default 28s", kMayDiffer, above(0)}, budget);
  v.field({"min-time", Unit::seconds,
           "read the data again until it was read for so long; not what a first reading left in memory", above(0)},
          min_time);
  v.field({"repeat", Unit::count, "measure so many times, caches prepared anew, and say the median and its interval",
           kMayDiffer, between(1, 1000)},
          repeat);
  v.field({"seed", "order of the random samples, or of the requests to a store", kMayDiffer}, seed);
  store.describe(v);
}

void ReadResult::describe(FieldVisitor& v) {
  v.field({"store",
           "of a store: stream or stage, and what each number of connections gave; the figures beside it are those of "
           "the knee"},
          store);
  v.field({"mode", "how files were read", kCondition}, mode);
  v.field({"job", "what --job stood for"}, job);
  v.field({"engine", "what read them", kCondition}, engine);
  v.field({"direct", "past the page cache", kCondition}, direct);
  v.field({"threads", Unit::count, "threads that read", kCondition}, threads);
  v.field({"depth", Unit::count, "reads in flight of each; none: of a store", kCondition}, depth);
  v.field({"block", Unit::bytes, "bytes per read of files in sequential mode, of blocks in random mode", kCondition},
          block);
  v.field({"files", Unit::count, "files or shards named", kCondition}, files);
  v.field({"bytes", Unit::bytes, "bytes read"}, bytes);
  v.field({"samples", Unit::count,
           "samples read; a file that is no shard is one; none: those of a store, of random blocks, and of shards "
           "without index at a depth above 1 are not counted"},
          samples);
  v.field({"operations", Unit::count, "reads"}, operations);
  v.field(
      {"kernel_reads", Unit::count, "reads that the kernel made of them: more where it gave fewer bytes than asked"},
      kernel_reads);
  v.field(
      {"passes", Unit::count, "times that caches were made ready and the data read; within one they may come again"},
      passes);
  v.field({"read_seconds", Unit::seconds, "time they took"}, read_seconds);
  v.field({"cpu_seconds", Unit::seconds, "processor time they took"}, cpu_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over time; of repetitions the median",
           metric(Better::higher)},
          bytes_per_second);
  v.field({"bytes_per_second_interval", Unit::bytes_per_second,
           "95 % interval of the median over slices of 0.1 s, none of less than 1 s or where the rate lies outside; or "
           "over repetitions, of fewer than 6 of them their range"},
          bytes_per_second_interval);
  v.field(
      {"steady",
       "false when the rate drifted by more than a tenth from start to end; null: less than 1 s, too short to tell"},
      steady);
  v.field({"samples_per_second", Unit::per_second, "samples over time", derived_metric(Better::higher)},
          samples_per_second);
  v.field({"mean_sample", Unit::bytes, "mean size of those as stored, a shard's headers and padding included",
           condition_within(0.05)},
          mean_sample);
  v.field({"latency", Unit::seconds, "time of one read: a block, or a sample in random mode", metric(Better::lower)},
          latency);
  v.field({"latency_histogram", "how many reads took how long, by powers of two"}, latency_histogram);
  v.field({"repetitions", "each by itself, where there was more than one"}, repetitions);
  v.field({"cache", "state of the page cache", kCondition}, cache);
  v.field({"storage", "what the first path lies on", kCondition}, storage);
  v.field({"on_disk", "what of the data is not on the disk byte for byte"}, on_disk);
  v.field({"device", "the block device meanwhile, as iostat sees it"}, device);
  v.field({"imagefolder", "of folders: each kind of call apart, and what an epoch costs"}, imagefolder);
  v.field({"fio", "the command that has fio read the same in the same way; none where it cannot"}, fio);
  v.field({"hints", "what a reader of these numbers should know"}, hints);
}

}  // namespace shardkit::bench
