#include "bench/pipeline/pipeline.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/model/requirement.hpp"
#include "bench/pipeline/pipeline_rows.hpp"
#include "bench/pipeline/pipeline_run.hpp"
#include "bench/pipeline/pipeline_setup.hpp"
#include "core/error.hpp"
#include "io/publish.hpp"
#include "system/storage.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kReadersOfShards = 4;
constexpr std::uint64_t kReadersOfFiles = 16;
constexpr double kGuessedSampleBytes = 128U << 10U;

/// Long enough for tens of thousands of samples of nothing.
constexpr double kCalibrationSeconds = 0.15;

unsigned readers_of(const SampleSource& source, const PipelineOptions& options) {
  const bool files = source.kind() == "files";
  const std::uint64_t wanted = options.readers.value_or(files ? kReadersOfFiles : kReadersOfShards);
  return static_cast<unsigned>(std::min<std::uint64_t>(wanted, source.most_readers()));
}

/// The mean where all files say how many samples they hold; else a guess, for only reading them tells.
double mean_sample_bytes(const InputSet& input) {
  std::uint64_t samples = 0;
  for (const InputFile& file : input.files) {
    if (!file.samples) return kGuessedSampleBytes;
    samples += *file.samples;
  }
  return samples > 0 ? static_cast<double>(input.bytes) / static_cast<double>(samples) : kGuessedSampleBytes;
}

/// What the tool itself costs with these threads and batches, where nothing is read, decoded or computed.
PipelineRun calibrate(const PipelineSetup& setup, Context& context) {
  const auto source = null_source();
  const auto sink = host_sink();
  LoaderSettings loader = setup.loader;
  loader.prefetch = std::max<std::uint64_t>(setup.prefetches.back(), 1);
  loader.readers = 1;
  loader.decode = DecodeKind::null;
  loader.crop = 1;
  loader.flow.samples.reset();
  loader.flow.shuffle_samples = 0;
  return run_pipeline({*source, *sink, {}, CacheRequest::any, 1, kCalibrationSeconds, kGuessedSampleBytes}, loader,
                      {setup.loader.gpus, 0, 0}, nullptr, nullptr, context);
}

ToolOverhead tool_overhead(const PipelineRun& calibration, const PipelineRun& run) {
  ToolOverhead overhead;
  const double measured = cpu_seconds_per_sample(run);
  const double batches = static_cast<double>(calibration.tally.decoded) / static_cast<double>(calibration.loader.batch);
  overhead.samples_per_second = calibration.log.samples_per_second();
  overhead.cpu_seconds_per_sample = cpu_seconds_per_sample(calibration);
  const double at_batches = calibration.tally.transfer.total_cpu() + calibration.step_times.total_cpu();
  overhead.cpu_seconds_per_batch = batches > 0 ? at_batches / batches : 0;
  overhead.share_ratio = measured > 0 ? std::min(1.0, overhead.cpu_seconds_per_sample / measured) : 0;
  overhead.step_late_mean = run.log.mean_late();
  overhead.step_late_max = run.log.most_late();
  return overhead;
}

/// That there was something to measure.
void check_samples(const PipelineRun& run, const std::string& path, std::optional<double> budget, Context& context) {
  const std::uint64_t seen = run.tally.decoded + run.tally.failures.total;
  if (seen == 0 && run.out_of_time) {
    throw Error(ErrorCode::usage,
                fmt::format("--budget: no image came from '{}' within {}; a longer one sees some", path,
                            format_duration(*budget)),
                path);
  }
  if (seen == 0) throw Error(ErrorCode::not_found, fmt::format("there are no images in '{}'", path), path);
  if (run.tally.decoded == 0) {
    throw Error(ErrorCode::corrupt,
                fmt::format("not one of {} images from '{}' can be decoded as a JPEG ({} are of another format)", seen,
                            path, run.tally.failures.not_jpeg),
                path);
  }
  if (run.log.steps() == 0) {
    throw Error(ErrorCode::usage, fmt::format("--drop-last: {} samples do not fill one batch of {}; name a smaller "
                                              "--batch",
                                              run.tally.decoded, run.loader.batch));
  }
  if (run.log.steps() == 1) {
    context.warn("one_step", fmt::format("{} samples make one step; rates hold little and utilisation is not known: a "
                                         "smaller --batch or more data tells more",
                                         run.log.samples()));
  }
}

CheckpointInterference interference(const PipelineRun& with, const PipelineRun& without, const CheckpointWriter& writer,
                                    std::uint64_t every) {
  CheckpointInterference result;
  result.every = every;
  result.bytes = static_cast<double>(writer.bytes());
  result.written = writer.count();
  if (writer.count() > 0) {
    result.mean_seconds = writer.seconds() / static_cast<double>(writer.count());
    result.bytes_per_second = result.bytes / std::max(result.mean_seconds, 1e-9);
  }
  result.max_seconds = writer.longest();
  result.share_ratio = with.log.checkpoint_share();
  result.samples_per_second_with = with.log.samples_per_second();
  result.samples_per_second_without = without.log.samples_per_second();
  if (result.samples_per_second_without > 0) {
    result.lost_ratio = 1 - result.samples_per_second_with / result.samples_per_second_without;
  }
  return result;
}

void describe_setup(const PipelineOptions& options, const PipelineRun& run, const PipelineSetup& setup,
                    PipelineResult& result) {
  const LoaderSettings& loader = run.loader;
  result.decode = loader.decode;
  result.gpus = loader.gpus;
  result.batch = loader.batch;
  result.step_seconds = setup.step.step_seconds;
  result.prefetch = loader.prefetch;
  result.readers = loader.readers;
  result.workers = loader.workers;
  result.crop = loader.crop;
  result.dtype = loader.type;
  result.layout = loader.layout;
  result.batch_memory = static_cast<double>(batches_in_memory(loader)) * static_cast<double>(loader.batch) *
                        static_cast<double>(tensor_bytes(loader.crop, value_bytes(loader.type)));
  result.cache.requested = options.cache;
  if (setup.step.step_seconds > 0) {
    result.required_samples_per_second = static_cast<double>(loader.gpus * loader.batch) / setup.step.step_seconds;
  }
}

void add_measurement(const PipelineRun& run, PipelineResult& result) {
  const PipelineVerdict verdict = judge_pipeline(pipeline_shares(run), run.loader.prefetch);
  result.limiting_stage = verdict.limiting_stage;
  result.reason = verdict.reason;
  result.advice = verdict.advice;
  result.steps = run.log.steps();
  result.samples = run.log.samples();
  result.samples_dropped = run.tally.dropped;
  result.samples_per_second = run.log.samples_per_second();
  if (run.tally.read_samples > 0) {
    result.mean_sample = static_cast<double>(run.tally.read_bytes) / static_cast<double>(run.tally.read_samples);
  }
  result.bytes_per_second = result.samples_per_second * result.mean_sample;
  result.batch_latency = run.log.batch_latency();
  result.first_batch_seconds = run.log.first_batch();
  result.stall_ratio = run.log.stall();
  result.au_ratio = run.log.au();
  result.stages = stage_rows(run);
  result.cpu_seconds_per_sample = cpu_seconds_per_sample(run);
  result.epochs = epoch_rows(run);
  result.failures = run.tally.failures;
  result.cache.residency_before_ratio = run.residency.front();
  result.cache.residency_after_ratio = run.residency_after;
}

class PipelineBench {
 public:
  PipelineBench(const PipelineOptions& options, const InputSet& input, Context& context)
      : options_(options),
        input_(input),
        context_(context),
        setup_(set_up(options)),
        files_(posix_file_system()),
        source_(make()),
        sink_(host_sink()),
        work_{*source_, *sink_, input.files, options.cache, options.epochs, options.budget, mean_sample_bytes(input)} {
    check_batch_memory(setup_);
    if (options.trace) AtomicFile(*files_, *options.trace);  // that it can be written, before anything is measured
    setup_.loader.readers = readers_of(*source_, options);
    if (!input.files.empty()) check_on_disk(input.files, options.cache == CacheRequest::cold, false, context);
  }

  PipelineResult measure() {
    const PipelineRun calibration = calibrate(setup_, context_);
    PipelineResult result;
    for (std::size_t i = 0; i + 1 < setup_.prefetches.size(); ++i) {
      result.prefetches.push_back(prefetch_row(run(setup_.prefetches[i], nullptr, nullptr)));
    }
    measure_last(calibration, result);
    return result;
  }

 private:
  std::unique_ptr<SampleSource> make() {
    if (options_.source == SourceKind::null) return null_source();
    return make_source(input_, {options_.shuffle_buffer > 0, options_.seed}, context_);
  }

  PipelineRun run(std::uint64_t prefetch, CheckpointWriter* checkpoints, TraceLog* trace) {
    LoaderSettings loader = setup_.loader;
    loader.prefetch = prefetch;
    if (options_.source == SourceKind::null && !loader.flow.samples && !options_.budget) {
      loader.flow.samples = loader.gpus * loader.batch * kNullSteps;
    }
    StepSettings step = setup_.step;
    if (checkpoints == nullptr) step.checkpoint_every = 0;
    return run_pipeline(work_, loader, step, checkpoints, trace, context_);
  }

  /// The value of --prefetch that the result is about, with checkpoints and trace.
  void measure_last(const PipelineRun& calibration, PipelineResult& result) {
    const std::uint64_t prefetch = setup_.prefetches.back();
    const std::uint64_t every = setup_.step.checkpoint_every;
    std::optional<PipelineRun> without;
    std::optional<CheckpointWriter> writer;
    if (every > 0) {
      writer.emplace(*files_, options_.checkpoint_dir, *options_.checkpoint_bytes);
      without = run(prefetch, nullptr, nullptr);
    }
    std::optional<TraceLog> trace;
    const std::size_t threads = std::size_t{setup_.loader.readers} + setup_.loader.workers + 2;
    if (options_.trace) trace.emplace(threads, std::chrono::steady_clock::now());
    const PipelineRun last = run(prefetch, writer ? &*writer : nullptr, trace ? &*trace : nullptr);
    check_samples(last, input_.files.empty() ? "nothing" : input_.files.front().path, options_.budget, context_);
    result.prefetches.push_back(prefetch_row(last));
    result.source = source_->kind();
    if (!input_.files.empty()) result.files = source_->most_readers();  // each is read by one
    result.sink = sink_->name();
    describe_setup(options_, last, setup_, result);
    add_measurement(last, result);
    if (!input_.files.empty()) {
      result.cache.state = cache_state(result.cache, storage_of(input_.files.front().path).storage_class);
    }
    result.overhead = tool_overhead(calibration, last);
    if (without) result.checkpoint = interference(last, *without, *writer, every);
    if (trace) result.trace = write_trace(*trace);
  }

  TraceReport write_trace(const TraceLog& trace) {
    trace.write(*files_, *options_.trace, "iobench pipeline");
    return {*options_.trace, trace.events(), trace.dropped()};
  }

  /// Steps of an epoch that reads nothing, where no limit was named.
  static constexpr std::uint64_t kNullSteps = 200;

  const PipelineOptions& options_;
  const InputSet& input_;
  Context& context_;
  PipelineSetup setup_;
  std::unique_ptr<FileSystem> files_;
  std::unique_ptr<SampleSource> source_;
  std::unique_ptr<BatchSink> sink_;
  PipelineWork work_;
};

}  // namespace

PipelineResult pipeline(const PipelineOptions& options, Context& context) {
  set_up(options);  // what is wrong with the options is said before anything is looked for
  const bool null_source = options.source == SourceKind::null;
  if (null_source && !options.paths.empty()) {
    throw Error(ErrorCode::usage, "PATH: nothing is read with --source null; leave it out");
  }
  if (null_source) return pipeline(options, InputSet{}, context);
  if (options.paths.empty()) throw Error(ErrorCode::usage, "PATH: name shards, images or a folder of either");
  return pipeline(options, find_input(options.paths, context), context);
}

PipelineResult pipeline(const PipelineOptions& options, const InputSet& input, Context& context) {
  return PipelineBench(options, input, context).measure();
}

}  // namespace shardkit
