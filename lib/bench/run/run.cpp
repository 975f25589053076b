#include "bench/run/run.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "bench/run/run_stages.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "system/host.hpp"
#include "system/limits.hpp"

namespace shardkit::bench {

void warn_of_steps(std::span<const RunResult> repetitions, Context& context) {
  for (const RunResult& repetition : repetitions) {
    if (!repetition.pipeline || repetition.pipeline->steps >= kLeastSteps) continue;
    const bool once = repetition.pipeline->cache.state == CacheState::cold;  // the data would be in memory then
    context.warn("pipeline_short",
                 fmt::format("the pipeline made only {}, but {} are needed for a rate: its result is only in the JSON, "
                             "not in the table of stages or the verdict. Use more data{}",
                             format_count(repetition.pipeline->steps, "step"), kLeastSteps,
                             once ? "" : " or a longer --budget"));
    return;
  }
}

namespace {

/// Of the budget.
constexpr double kShareForListing = 0.15;

/// The pipeline's rate while it was full: the filling at the start of each pass is left out, which long passes of
/// training hardly have.
double steady_rate(const PipelineResult& pipeline) {
  double samples = 0;
  double seconds = 0;
  for (const EpochRow& epoch : pipeline.epochs) {
    if (epoch.samples_per_second <= 0) continue;
    samples += static_cast<double>(epoch.samples);
    seconds += static_cast<double>(epoch.samples) / epoch.samples_per_second;
  }
  return seconds > 0 ? samples / seconds : pipeline.samples_per_second;
}

void add_decoding(const DecodeResult& decode, MeasuredNode& node) {
  if (!decode.samples_per_second_per_core) return;
  node.decode = {decode.samples_per_second, decode.samples_per_second_interval,
                 1 / *decode.samples_per_second_per_core};
  node.threads = static_cast<double>(decode.threads);
  node.megapixels = decode.mix.mean_megapixels;
  node.images = decode.mix.most();
  if (!decode.augment || decode.augment->samples_per_second_per_core <= 0) return;
  node.augment = {decode.augment->samples_per_second, decode.augment->samples_per_second_interval,
                  1 / decode.augment->samples_per_second_per_core};
}

/// A pipeline reads through the page cache. With direct reading it measures storage only if it found the cache empty.
bool reads_storage_too(const ReadResult& read, const PipelineResult& pipeline) {
  return !read.direct || pipeline.cache.state == CacheState::cold || pipeline.cache.state == CacheState::client_cold;
}

/// What the stages of a repetition say about the node.
MeasuredNode measured_node(const RunResult& result, const RunOptions& options) {
  const ReadResult& read = result.read;
  const Environment& machine = result.environment;
  MeasuredNode node;
  node.cores = static_cast<double>(machine.usable_threads);
  node.cpu_limit = machine.cpu_limit;
  if (machine.cpu_limit) node.cores = std::min(node.cores, *machine.cpu_limit);
  node.readers = static_cast<double>(read.threads);
  node.more_readers = result.more_readers;
  node.cache_state = read.cache.state;
  node.sample_bytes = read.mean_sample.value_or(0);
  node.read = {read.bytes_per_second, read.bytes_per_second_interval,
               read.cpu_seconds / static_cast<double>(read.bytes) * node.sample_bytes};
  node.crop = options.crop;
  node.unpack = result.unpack;
  if (result.decode) add_decoding(*result.decode, node);
  if (result.pipeline && result.pipeline->steps >= kLeastSteps && reads_storage_too(read, *result.pipeline)) {
    node.pipeline = {steady_rate(*result.pipeline)};
    node.pipeline_stage = result.pipeline->limiting_stage;
  }
  if (result.file_costs) node.file_costs_ratio = result.file_costs->other_ratio;
  node.sample_work = result.sample_work;
  node.loader_reads = result.loader_reads;
  node.calibration = result.calibration;
  if (result.transfer.pinned_h2d) node.transfer = {*result.transfer.pinned_h2d, result.transfer.interval};
  node.transfer_gpus = result.transfer.gpus;
  node.transfer_copy_bytes = static_cast<double>(result.transfer.copy_bytes);
  return node;
}

/// Hints stay in the result; the space in /dev/shm is judged later, for the suggested loader. Those of one kind, such
/// as of several GPUs, are one warning.
void warn_of_environment(const Environment& environment, Context& context) {
  std::vector<const MachineFinding*> first;
  std::map<std::string, std::size_t> counts;
  for (const MachineFinding& finding : environment.findings) {
    if (finding.severity == Severity::hint || finding.code == "dev_shm_small") continue;
    if (++counts[finding.code] == 1) first.push_back(&finding);
  }
  for (const MachineFinding* finding : first) {
    const std::size_t others = counts[finding->code] - 1;
    context.warn(finding->code, others == 0 ? finding->text
                                            : fmt::format("{} ({} more of this kind: `iobench env` lists them)",
                                                          finding->text, others));
  }
}

/// Loader processes that the machine, or the data, has no room for.
void warn_of_loader(const RunOptions& options, const RunResult& result, Context& context) {
  const LoaderAdvice& loader = result.summary.loader;
  if (loader.line.empty()) return;
  const std::string fits =
      fmt::format("{} loader processes per GPU instead of {}", loader.workers, loader.wanted_workers);
  if (loader.limit == WorkerLimit::dev_shm) {
    context.warn("dev_shm_too_small",
                 fmt::format("/dev/shm has {} free, which is enough for {}: make it larger (Docker: --shm-size, "
                             "Kubernetes: an emptyDir of medium Memory; it counts towards the memory limit) or lower "
                             "--prefetch",
                             format_size(result.environment.dev_shm.value_or(0)), fits));
  }
  if (loader.limit == WorkerLimit::memory) {
    context.warn("loader_memory",
                 fmt::format("the memory of {} is enough for {} with their batches in /dev/shm: raise the limit of the "
                             "control group or lower --prefetch",
                             format_size(result.environment.usable_memory), fits));
  }
  if (loader.limit == WorkerLimit::shards && options.workers) {
    context.warn(
        "workers_above_shards",
        fmt::format("{}: webdataset gives each process whole shards, and one without a shard stops the job", fits));
  }
}

/// If stages are slower or faster together than their separate rates predict, they share something that the prediction
/// does not know, or one of them was not steady.
void warn_of_pipeline(const RunResult& result, Context& context) {
  constexpr double kMost = 1.1;
  if (result.pipeline && !reads_storage_too(result.read, *result.pipeline)) {
    context.warn("pipeline_cached",
                 fmt::format("reading bypassed the page cache (O_DIRECT), but the pipeline reads through the cache, "
                             "which may have contained its data (state: {}). Its rate does not show the speed of "
                             "storage, so it is only in the JSON, not in the table of stages or the verdict",
                             enum_name(result.pipeline->cache.state)));
  }
  const RunSummary& summary = result.summary;
  const double ratio = summary.predicted.of_measured_ratio.value_or(1);
  if (ratio <= kMost && ratio >= 1 / kMost) return;
  context.warn(
      "prediction_off",
      ratio < 1
          ? fmt::format("the stages were {:.0f} % slower alone than together: the machine was busy meanwhile. Run "
                        "again on an idle machine, or with a longer --budget",
                        (1 - ratio) * 100)
          : fmt::format("together the stages were {:.0f} % slower than expected from each alone: the machine was "
                        "busy meanwhile, or the stages share more than cores. Run again with a longer --budget to "
                        "find out",
                        (1 - 1 / ratio) * 100));
}

std::optional<JobRequirement> requirement_of(const RunOptions& options) {
  JobOptions job = options;
  // Samples have the size of the measured ones; only a preset without images has its own.
  if (!options.preset) job.sample_bytes = 1;
  return job_requirement(job);
}

/// The cache state of the read, which further repetitions use.
RunCache cache_of(const ReadResult& read) {
  if (read.direct) return RunCache::direct;
  if (read.cache.requested == CacheRequest::any) return RunCache::any;
  return read.cache.requested == CacheRequest::cold ? RunCache::cold : RunCache::warm;
}

LoaderOptions loader_of(const RunOptions& options) {
  LoaderOptions loader;
  loader.batches = crop_batches(std::max<std::uint64_t>(options.crop, 1), options.dtype);  // of whole images, a pixel
  loader.batches.crop = options.crop;
  loader.batches.workers = options.workers;
  loader.batches.prefetch = options.prefetch;
  loader.force_verdict = options.force_verdict;
  return loader;
}

double predicted_samples(const MeasuredNode& node, const RunOptions& options) {
  return summarize_run(node, requirement_of(options), loader_of(options)).predicted.samples_per_second;
}

/// With --python: in half of the budget, because importing torch alone takes seconds.
void measure_python(const RunOptions& options, const InputSet& input, Context& context, RunResult& result) {
  constexpr double kShare = 0.5;
  if (!options.python) return;
  result.loader_data = look_at_loader_data(input, options.crop > 0, context);
  LoaderBatches batches = crop_batches(options.crop, options.dtype);
  if (const auto requirement = requirement_of(options)) batches.batch = requirement->job.batch;
  result.calibration =
      calibrate(python_of(*options.python), *result.loader_data, input, batches, options.budget * kShare, context);
}

/// Called after the stages of the host are measured, which give the size of a sample.
TransferStage transfer_batches(const RunResult& repetition, const RunOptions& options, const GpuMachine& gpus,
                               Context& context) {
  const auto requirement = requirement_of(options);
  const LoaderOptions loader = loader_of(options);
  BatchCopies wanted;
  wanted.gpus = requirement ? requirement->job.gpus : gpus.devices.size();
  wanted.batch = requirement ? requirement->job.batch : loader.batches.batch;
  wanted.sample_bytes = decoded_bytes(measured_node(repetition, options), requirement, loader.batches.decoded_bytes);
  wanted.seconds = options.budget * kShareForTransfer;
  return measure_transfer(gpus, wanted, context);
}

/// Takes each stage from the repetition with its median rate, so that all values of a stage were measured together.
void show_median_repetitions(std::vector<RunResult>& repetitions, RunResult& result) {
  const auto median = [&](auto&& rate_of) -> const RunResult& {
    return median_result<RunResult>(repetitions, rate_of);
  };
  const auto rate_of = [](const auto& stage) { return stage ? stage->samples_per_second : 0; };
  result.read = median([](const RunResult& repetition) { return repetition.read.bytes_per_second; }).read;
  result.decode = median([&](const RunResult& repetition) { return rate_of(repetition.decode); }).decode;
  result.pipeline = median([&](const RunResult& repetition) { return rate_of(repetition.pipeline); }).pipeline;
  result.transfer =
      median([](const RunResult& repetition) { return repetition.transfer.pinned_h2d.value_or(0); }).transfer;
  result.file_costs = std::move(repetitions.front().file_costs);
  result.more_readers = repetitions.front().more_readers;
  result.unpack = repetitions.front().unpack;
}

/// Parts of a repetition for the progress line: read, decode, pipeline, transfer.
constexpr std::size_t kStages = 4;

/// One repetition of the stages. After a stop it has those before.
RunResult measure_repetition(const RunOptions& options, std::uint64_t number, const InputSet& input,
                             std::uint64_t cores, const GpuMachine& gpus, Context& context, const RunResult& result) {
  RunResult repetition;
  repetition.environment = result.environment;
  repetition.calibration = result.calibration;
  repetition.loader_data = result.loader_data;
  Progress& progress = context.progress();
  try {
    progress.stage = static_cast<unsigned>(number * kStages);
    measure_stages(options, input, cores, context, repetition);
    progress.stage = static_cast<unsigned>((number + 1) * kStages);
    repetition.transfer = transfer_batches(repetition, options, gpus, context);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
    repetition.interrupted = true;
  }
  return repetition;
}

/// What other processes did during the stages that the verdict uses.
Neighbors neighbors_of(std::span<const RunResult> repetitions) {
  std::vector<Neighbors> neighbors;
  for (const RunResult& repetition : repetitions) {
    neighbors.push_back(repetition.read.neighbors);
    if (repetition.decode) neighbors.push_back(repetition.decode->neighbors);
    if (repetition.pipeline) neighbors.push_back(repetition.pipeline->neighbors);
  }
  return together(neighbors);
}

RunRepetition metrics_of(const RunResult& repetition, double predicted_samples) {
  RunRepetition row{repetition.read, repetition.decode, repetition.pipeline, repetition.transfer, {}};
  if (row.pipeline && row.pipeline->steps < kLeastSteps) row.pipeline.reset();
  row.predicted.samples_per_second = predicted_samples;
  return row;
}

/// Several repetitions in one result, and the node's medians.
MeasuredNode combine(std::vector<RunResult>& repetitions, const RunOptions& options, Context& context,
                     RunResult& result) {
  const auto other_state = [&](const RunResult& repetition) {
    return repetition.read.cache.state != repetitions.front().read.cache.state;
  };
  if (std::ranges::any_of(repetitions, other_state)) {
    context.warn("cache_state_changed", "the repetitions did not all start from the same page cache state");
  }
  std::vector<MeasuredNode> nodes;
  std::vector<RunRepetition> rows;
  for (const RunResult& repetition : repetitions) {
    nodes.push_back(measured_node(repetition, options));
    rows.push_back(metrics_of(repetition, predicted_samples(nodes.back(), options)));
  }
  show_median_repetitions(repetitions, result);
  result.set("run", std::move(rows));
  MeasuredNode node = median_node(nodes);
  node.cache_state = result.read.cache.state;
  return node;
}

/// All repetitions, and their result for the node. From the second on they start from the cache state of the first one.
/// Empty after a stop before the end of the first.
std::optional<MeasuredNode> measure(RunOptions options, double before_seconds, const InputSet& input,
                                    std::uint64_t cores, const GpuMachine& gpus, Context& context, RunResult& result) {
  context.progress().expect_stages(options.repeat * kStages);
  const double budget = options.budget;
  options.budget -= std::min(before_seconds, budget / 2);
  std::uint64_t number = 0;
  auto [repetitions, interrupted, failure] = measure_repeatedly<RunResult>(options, [&] {
    RunResult repetition = measure_repetition(options, number++, input, cores, gpus, context, result);
    options.cache = cache_of(repetition.read);
    options.budget = budget;
    result.loader_data = repetition.loader_data;
    return repetition;
  });
  const bool complete = !repetitions.front().interrupted;
  const Neighbors neighbors = neighbors_of(repetitions);
  if (complete) warn_of_steps(repetitions, context);
  std::optional<MeasuredNode> node;
  if (complete && options.repeat > 1) {
    node = combine(repetitions, options, context, result);
  } else {
    result = std::move(repetitions.front());
    if (complete) node = measured_node(result, options);
  }
  result.neighbors = neighbors;
  result.interrupted = interrupted;
  result.failure = std::move(failure);
  return node;
}

/// The verdict of an incomplete run: of the repetitions before the stop, or none.
void note_interruption(const RunOptions& options, RunResult& result) {
  Verdict& verdict = result.summary.verdict;
  if (!verdict.text.empty()) {
    verdict.text.insert(0, fmt::format("interrupted after {} of {}: ", result.repetitions.size(),
                                       format_count(options.repeat, "repetition")));
    return;
  }
  verdict.ok = std::nullopt;
  verdict.text = "interrupted: no verdict";
  if (result.read.bytes > 0) verdict.text += "; read " + format_rate(result.read.bytes_per_second);
  if (result.decode) verdict.text += "; decode " + sample_rate_text(result.decode->samples_per_second);
  if (result.pipeline) verdict.text += "; pipeline " + sample_rate_text(result.pipeline->samples_per_second);
}

}  // namespace

RunResult run(const RunOptions& options, Context& context) {
  check_ranges(options);
  requirement_of(options);  // slips in the options come before the machine
  return run(options, OpenGpus(GpuUse::if_available).with_monitor(), context);
}

RunResult run(const RunOptions& options, const GpuMachine& gpus, Context& context) {
  check_ranges(options);
  check_usage(options.repeat == 1 || options.cache != RunCache::any,
              "--repeat does not go with --cache any, because after the first repetition the data is in memory");
  const auto requirement = requirement_of(options);
  warn_of_step_time(options, context);
  RunResult result;
  const auto begin = std::chrono::steady_clock::now();
  const InputSet input =
      spread(find_input(options.paths, context, options.access, moment_in(options.budget * kShareForListing)));
  result.environment = look_at_environment(has_objects(input.files) ? "" : input.files.front().path, std::nullopt);
  warn_of_environment(result.environment, context);
  measure_python(options, input, context, result);
  const double before_seconds = -seconds_until(begin);
  const std::uint64_t cores = result.environment.usable_threads;
  const CommonStart start = wait_for_start(options.start, system::node_name(), context);
  SecondWatch watch(context.progress());
  if (auto node = measure(options, before_seconds, input, cores, gpus, context, result)) {
    node->neighbors = result.neighbors;
    LoaderOptions loader = loader_of(options);
    loader.data = result.loader_data.value_or(LoaderData{});
    loader.limits = loader_limits();
    result.summary = summarize_run(*node, requirement, loader);
    if (result.decode) warn_of_failures(result.decode->failures, result.decode->tried(), context);
    warn_of_loader(options, result, context);
    warn_of_pipeline(result, context);
  }
  result.start = start;
  result.seconds = watch.stop();
  if (result.interrupted) note_interruption(options, result);
  RunOptions shown = options;
  for (std::string& path : shown.paths) path = without_secrets(path);
  result.command = command_text("iobench run", shown);
  return result;
}

void RunOptions::describe(FieldList& v) {
  v.field({"PATH", "shards, files, or folders of either; local or at s3:// or http(s):// URLs", Role::positional,
           kMayDiffer},
          paths);
  v.topic("Training job");
  JobOptions::describe(v);
  v.topic("Loader");
  v.field(system::threads_field("decoding threads; default: CPUs available to the process"), threads);
  v.field({"workers", Unit::count,
           "loader processes per GPU; default: the smallest number that reaches 95 % of the best rate", at_least(1)},
          workers);
  v.field({"prefetch", Unit::count, "batches that each worker prefetches", at_least(1)}, prefetch);
  v.field({"python", "measure PIL and torchvision with this interpreter, to predict a DataLoader; auto: python3",
           "PYTHON", kMayDiffer},
          python);
  v.field({"crop", Unit::count, "width and height of the random resized crop; 0: whole images", between(0, kMostCrop)},
          crop);
  v.field({"dtype", "data type of the decoded values, to compute the memory of batches"}, dtype);
  v.topic("Measurement");
  v.field({"cache",
           "page cache state to read from; direct: bypass it (O_DIRECT); auto: the first available of cold, direct, "
           "warm, any",
           kMayDiffer},
          cache);
  v.field({"budget", Unit::seconds, "time of all measurements, including listing, per repetition", kMayDiffer,
           above(0, kDay), Misnomers{"min-seconds min-time seconds duration"}},
          budget);
  RepeatOption::describe(v);
  v.field({"force-verdict", "give a verdict even if other processes disturbed the measurement", kMayDiffer},
          force_verdict);
  start.describe(v);
  access.describe(v);
}

void RunRepetition::describe(FieldList& v) {
  v.field({"predicted", "what the node feeds"}, predicted);
  v.field({"read", "reading", kStage}, read);
  v.field({"decode", "decoding", kStage}, decode);
  v.field({"pipeline", "all stages at once, measured", kStage}, pipeline);
  v.field({"transfer", "copies of batches to the GPUs", kStage}, transfer);
}

void RunResult::throw_if_failed() const {
  Repeated::throw_if_failed();
  if (summary.verdict.ok || interrupted) return;
  if (!neighbors.disturb()) {
    throw Error(ErrorCode::in_use,
                "the loader misses the requirement by less than the error of its prediction: run again with a longer "
                "--budget, or with --force-verdict");
  }
  throw Error(ErrorCode::in_use,
              "other processes disturbed the measurement, so that a missed requirement proves nothing: run again on an "
              "idle machine, or with --force-verdict");
}

void RunResult::describe(FieldList& v) {
  v.field({"verdict", "verdict and remedy"}, summary.verdict);
  v.field({"requirement", "what the job needs"}, summary.requirement);
  v.field({"predicted", "what the node feeds: the pipeline's rate, else predicted from the stages"}, summary.predicted);
  v.field({"stages", "required, measured, headroom of each stage"}, summary.stage_table);
  v.field({"loader", "settings for a PyTorch DataLoader"}, summary.loader);
  v.field({"presets", "without a requirement: published workloads and how many of their GPUs this node can feed"},
          summary.presets);
  Repeated::describe(v);
  v.field({"neighbors", "what other processes used meanwhile"}, neighbors);
  v.field({"environment", "hardware and limits of the run"}, environment);
  v.field({"read", "reading, measured", kStage}, read);
  v.field({"unpack", "unpacking, measured; absent if no shard is compressed"}, unpack);
  v.field({"decode", "decoding, measured", kStage}, decode);
  v.field({"pipeline", "all stages at once, without training steps, measured", kStage}, pipeline);
  v.field({"more_readers", "reading with more reads in flight, if storage was measured"}, more_readers);
  v.field({"file_costs", "for image files: time of each call, and how much shards would gain"}, file_costs);
  v.field({"calibration", "with --python: costs of a sample in that interpreter"}, calibration);
  v.field({"transfer", "copies of batches to the GPUs, measured if there are any", kStage}, transfer);
  v.field({"start", "when this node started, and its clock"}, start);
  v.field({"seconds", "bytes and samples of each second of the wall clock, by stage"}, seconds);
  v.field({"command", "command that repeats this run"}, command);
}

}  // namespace shardkit::bench
