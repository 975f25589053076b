#include "bench/read/read.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "bench/read/read_hints.hpp"
#include "bench/read/read_options.hpp"
#include "bench/read/read_work.hpp"
#include "bench/read/store_read.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/remedies.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {
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
    order = std::make_unique<GridOrder>(input.files, grid_of(options), kSeed, most);
    if (order->size() > 0) return order;
    throw Error(ErrorCode::not_found,
                fmt::format("none of {} given contains {}; choose larger files, or {}",
                            format_count(input.files.size(), "file"), typed_size(grid_of(options)),
                            options.sample_bytes ? "a smaller --sample-bytes" : "leave out --block to read samples"));
  }
  context.progress().start("listing samples");
  order = std::make_unique<ShuffledSamples>(list_samples(input, std::numeric_limits<std::size_t>::max(), context),
                                            kSeed, most);
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
  result.engine = enum_name(engine_of(options));
  result.direct = options.direct;
  result.threads = threads_of(options);
  result.depth = depth_of(options);
  result.block = reads_grid(options) ? grid_of(options) : block_of(options);
  result.files = files.size();
  result.cache.requested = options.cache;
  result.storage = system::storage_of(files.front().path);
  if (const std::string fio = fio_command(options, files); !fio.empty()) result.fio = fio;
  return result;
}

struct PassesRun {
  ReadMeasurement measured;
  std::uint64_t passes = 0;
  std::string hint;  ///< of the work; empty for none
};

void run_pass(const ReadPlan& plan, const ReadLimits& limits, const std::string& device, Context& context,
              PassesRun& run) {
  const auto work = make_work(plan, limits, context);
  const std::uint64_t threads = threads_of(plan.options);
  std::vector<ReadTally> tallies(threads);
  const auto before = system::look_at_disk(device);
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
  run.measured.add(timing, tallies, system::disk_growth(before, system::look_at_disk(device)));
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
  progress.start(plan.options.phase, samples, bytes, plan.counts_samples ? "samples" : "");
  progress.budget_seconds = limits.most_seconds.value_or(limits.least_seconds);
}

/// As many passes as --min-time needs. The caches are in the requested state at the start. Before further passes of
/// cold reads they are dropped again, which is not timed. Reads that may not be repeated (may_read_again()) end after
/// one pass, unless `is_warm`: everything was in memory.
PassesRun run_passes(const ReadPlan& plan, bool is_warm, const std::string& device, Context& context) {
  const ReadOptions& options = plan.options;
  const double least = options.min_time.value_or(0);
  const bool drops = !options.direct && options.cache == CacheRequest::cold;
  const bool goes_round = !drops && (is_warm || may_read_again(options));
  PassesRun run;
  double preparing = 0;
  while (true) {
    ReadLimits limits{{{}, goes_round ? least : 0}, options.samples};
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

void add_measurement(const ReadPlan& plan, const PassesRun& run, ReadResult& result) {
  const auto& [total, timing, device] = run.measured;
  result.passes = run.passes;
  result.steady = is_steady(timing);
  result.bytes_per_second = static_cast<double>(total.bytes) / timing.seconds;
  result.bytes_per_second_interval = rate_interval(timing, result.bytes_per_second);
  run.measured.add_totals(result);
  if (!run.hint.empty()) result.hints.push_back(run.hint);
  if (!plan.counts_samples) return;
  const auto samples = static_cast<double>(total.samples);
  result.samples = total.samples;
  result.samples_per_second = samples / timing.seconds;
  result.mean_sample = samples > 0 ? static_cast<double>(total.sample_bytes) / samples : 0;
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
  const DiskUse use = options.direct ? DiskUse::direct : use_of_disk(options.cache);
  const double asking = asking_seconds(options.prepare_seconds, kShareForAsking);
  const DataOnDisk on_disk = check_on_disk(input.files, use, context, asking);
  std::unique_ptr<RandomOrder> order;
  if (random) order = random_order(input, options, context);  // before caches are made cold: it reads headers
  check_read_memory(options, random ? std::min(order->largest(), kMostPerRead) : block_of(options));
  const std::size_t prepared = prepare_cache(input.files, options.cache, options.prepare_seconds, context);
  const auto files = std::span(input.files).first(prepared);
  const ReadPlan plan{files, *engine, options, order.get(), counts_samples(options, files)};
  ReadResult result = describe_run(options, files);
  result.on_disk = on_disk;
  result.cache.residency_before_ratio = residency(files, asking);
  result.cache.state = options.direct ? CacheState::direct : cache_state(result.cache, result.storage.storage_class);
  NeighborWatch watch(result.storage);
  const PassesRun run = run_passes(plan, result.cache.state == CacheState::warm, result.storage.device, context);
  result.neighbors = watch.so_far();
  add_measurement(plan, run, result);
  result.interrupted = context.stop_token().stop_requested();
  if (!result.interrupted) result.cache.residency_after_ratio = residency(files, asking);
  if (const auto remark = engine->remark()) context.warn("plain_buffers", *remark);
  if (result.samples == 0U && !options.prepare_seconds) {  // of which `run` makes an error
    context.warn("no_samples", "no samples per second: " + why_no_samples(options, files, result));
  }
  add_read_hints(options, input, plan, result);
  return result;
}

/// Where all data was read, each repetition has the same.
void warn_of_other_data(const ReadOptions& options, std::span<const ReadResult> repetitions, Context& context) {
  if (options.budget || options.min_time || options.samples) return;
  const auto differs = [&](const ReadResult& one) {
    return !one.store && (one.files != repetitions.front().files || one.bytes != repetitions.front().bytes);
  };
  if (std::ranges::none_of(repetitions, differs)) return;
  context.warn("data_changed", "the data changed between the repetitions: they did not measure the same");
}

ReadResult warned(ReadResult result, Context& context) {
  warn_of_neighbors(result.neighbors, context);
  return result;
}

/// What was read from, and remarks.
void describe_surroundings(FieldList& v, ReadResult& result) {
  v.field({"cache", "state of the page cache", kCondition}, result.cache);
  v.field({"storage", "storage of the first path", kCondition}, result.storage);
  v.field({"on_disk", "data that is not on the disk byte for byte"}, result.on_disk);
  v.field({"device", "activity of the block device during the run, as iostat reports it"}, result.device);
  v.field({"imagefolder", "for folders: each kind of call, and the cost of an epoch"}, result.imagefolder);
  v.field({"fio", "fio command for the same reads; absent if fio does not support them"}, result.fio);
  v.field({"hints", "remarks on these numbers"}, result.hints);
  v.field({"neighbors", "what other processes used meanwhile"}, result.neighbors);
}

}  // namespace

void ReadMeasurement::add(const Timing& pass, const std::vector<ReadTally>& tallies,
                          const std::optional<system::DiskCounters>& counted) {
  for (const ReadTally& tally : tallies) total.merge(tally);
  timing.seconds += pass.seconds;
  timing.cpu_seconds += pass.cpu_seconds;
  timing.rates.insert(timing.rates.end(), pass.rates.begin(), pass.rates.end());
  if (!counted) device.reset();
  if (!device) return;
  device->reads += counted->reads;
  device->read_bytes += counted->read_bytes;
  device->read_wait_seconds += counted->read_wait_seconds;
  device->queue_seconds += counted->queue_seconds;
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

ReadResult read(const ReadOptions& options, Context& context) {
  if (options.mode == ReadMode::imagefolder && std::ranges::none_of(options.paths, catalog::is_address)) {
    check_read_options(options, ReadKind::folders);
    return warned(read_folders(options, context), context);
  }
  StoreReader reader(options, context);
  const InputSet input = reader.find();
  return warned(has_objects(input.files) ? reader.read(input) : read(options, input, context), context);
}

ReadResult read(const ReadOptions& options, const InputSet& input, Context& context) {
  check_read_options(options, ReadKind::files);
  if (!options.sample_bytes) return read_files(options, input, context);
  return read_files(options, in_rows(input, *options.sample_bytes), context);
}

RepeatedReadResult read_repeatedly(const RepeatedReadOptions& options, Context& context) {
  check_ranges(options);
  const bool of_store = std::ranges::any_of(options.paths, catalog::is_address);
  if (options.repeat > 1 && !of_store && !may_read_again(options)) {
    throw usage_error(
        "--repeat needs --cache cold, --cache warm or --direct, because after the first read the data is in memory");
  }
  auto measured = measure_repeatedly<ReadResult>(options, [&] { return read(options, context); });
  warn_of_other_data(options, measured.results, context);
  RepeatedReadResult result;
  static_cast<ReadResult&>(result) =
      median_result<ReadResult>(measured.results, [](const ReadResult& one) { return one.bytes_per_second; });
  result.interrupted = measured.interrupted;
  result.failure = measured.failure;
  if (options.repeat > 1) result.set("read", std::move(measured.results));
  return result;
}

void RepeatedReadOptions::describe(FieldList& v) {
  ReadOptions::describe(v);
  v.topic("Measurement");
  RepeatOption::describe(v);
}

void RepeatedReadResult::describe(FieldList& v) {
  ReadResult::describe(v);
  Repeated::describe(v);
}

void ReadOptions::describe(FieldList& v) {
  v.field({"PATH",
           "shards, files, or folders of either; or URLs: s3://bucket/prefix, http(s)://host/file, patterns and lists "
           "of them",
           Role::positional, kMayDiffer},
          paths);
  v.topic("How it is read");
  v.field({"mode",
           "sequential: whole files in blocks; random: samples in random order (blocks with --block); imagefolder: "
           "folders of images, with each system call measured separately"},
          mode);
  v.field(system::threads_field("reading threads; default: CPUs available to the process; for stores: maximum number "
                                "of connections, default 64"),
          threads);
  v.field({"block", Unit::bytes,
           "bytes per read; default: 256KiB for sequential, 8MiB for stores, whole samples for random",
           between(512, 1U << 30U)},
          block);
  v.field({"engine", "how files are read; default: pread"}, engine);
  v.field({"depth", Unit::count,
           "reads in flight per thread; default: 32 with --engine uring; other engines allow only 1", between(1, 4096)},
          depth);
  v.field({"direct", "bypass the page cache (O_DIRECT)"}, direct);
  v.field({"cache", "page cache state to start from; fails if it is not available", kMayDiffer}, cache);
  v.topic("Measurement");
  v.field({"samples", Unit::count, "stop after this many samples", kMayDiffer, at_least(1)}, samples);
  v.field({"budget", Unit::seconds, "stop after this time, in each repetition; default for stores: 28s", kMayDiffer,
           above(0), Misnomers{"duration"}},
          budget);
  v.field(
      {"min-time", Unit::seconds, "read the data repeatedly for this time, restoring the cache state before each pass",
       above(0), Misnomers{"min-seconds seconds"}},
      min_time);
  v.field({"sample-bytes", Unit::bytes, "for local files: read samples of this size", between(1, 1ULL << 40U),
           Misnomers{"sample-size"}},
          sample_bytes);
  v.field({"required-rate", Unit::bytes_per_second,
           "for stores: the rate that the job reads, as `iobench model` computes it, for the verdict stream or stage",
           kMayDiffer, above(0), Misnomers{"preset gpus batch step-time min-au"}},
          required_rate);
  access.describe(v);
}

void DeviceActivity::describe(FieldList& v) {
  v.field({"read_bytes", Unit::bytes, "bytes read from the device"}, read_bytes);
  v.field({"read_bytes_per_second", Unit::bytes_per_second, "bytes divided by time"}, read_bytes_per_second);
  v.field({"requests_per_second", Unit::per_second, "number of requests"}, requests_per_second);
  v.field({"mean_request", Unit::bytes, "mean size of a request"}, mean_request);
  v.field({"mean_wait", Unit::seconds, "mean latency of a request"}, mean_wait);
  v.field({"mean_queue", "mean number of requests in flight"}, mean_queue);
}

void ReadResult::describe(FieldList& v) {
  v.field({"store",
           "for stores: stream or stage, and the results per number of connections; the other values are those at the "
           "knee"},
          store);
  v.field({"mode", "how files were read", kCondition}, mode);
  v.field({"engine", "reader engine", kCondition}, engine);
  v.field({"direct", "whether reads bypassed the page cache", kCondition}, direct);
  v.field({"threads", Unit::count, "reading threads", kCondition}, threads);
  v.field({"depth", Unit::count, "reads in flight per thread; absent for stores", kCondition}, depth);
  v.field({"block", Unit::bytes, "bytes per read of files in sequential mode, of blocks in random mode", kCondition},
          block);
  v.field({"files", Unit::count, "number of files or shards given", data_within(0)}, files);
  v.field({"bytes", Unit::bytes, "bytes read"}, bytes);
  v.field({"samples", Unit::count,
           "samples read; a file that is not a shard counts as one. Absent for stores, random blocks, and shards "
           "without index at a depth above 1"},
          samples);
  v.field({"operations", Unit::count, "reads"}, operations);
  v.field({"kernel_reads", Unit::count, "reads made by the kernel: more than requested if it returned fewer bytes"},
          kernel_reads);
  v.field({"passes", Unit::count, "number of passes over the data"}, passes);
  v.field({"read_seconds", Unit::seconds, "elapsed time"}, read_seconds);
  v.field({"cpu_seconds", Unit::seconds, "CPU time"}, cpu_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes divided by time", metric(Better::higher)},
          bytes_per_second);
  v.field({"bytes_per_second_interval", Unit::bytes_per_second,
           "95 % interval of the median over slices of 0.1 s; absent if the run took less than 1 s or the rate lies "
           "outside"},
          bytes_per_second_interval);
  v.field({"steady",
           "false if the rate drifted by more than 10 %; null if the run took less than 1 s, too short to find out"},
          steady);
  v.field({"samples_per_second", Unit::per_second, "samples divided by time", derived_metric(Better::higher)},
          samples_per_second);
  v.field({"mean_sample", Unit::bytes, "mean stored size of a sample, including headers and padding in a shard",
           data_within(0.05)},
          mean_sample);
  v.field({"unpack_cpu_seconds_per_sample", Unit::seconds,
           "CPU time of unpacking compressed shards; absent if there were none"},
          unpack_cpu_seconds_per_sample);
  v.field({"latency", Unit::seconds, "latency of one read: a block, or a sample in random mode", metric(Better::lower)},
          latency);
  v.field({"latency_histogram", "histogram of latencies, by powers of two"}, latency_histogram);
  describe_surroundings(v, *this);
}

}  // namespace shardkit::bench
