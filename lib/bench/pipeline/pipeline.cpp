#include "bench/pipeline/pipeline.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/pipeline/pipeline_gpus.hpp"
#include "bench/pipeline/pipeline_ladder.hpp"
#include "bench/pipeline/pipeline_report.hpp"
#include "bench/pipeline/pipeline_rows.hpp"
#include "bench/pipeline/pipeline_run.hpp"
#include "bench/pipeline/pipeline_setup.hpp"
#include "bench/pipeline/tool_overhead.hpp"
#include "core/error.hpp"
#include "gpu/devices.hpp"
#include "io/publish.hpp"
#include "system/storage.hpp"

namespace shardkit {
namespace {

constexpr std::uint64_t kReadersOfShards = 4;
constexpr std::uint64_t kReadersOfFiles = 16;

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

/// That there was something to measure.
void check_samples(const PipelineRun& run, const InputSet& input, std::optional<double> budget, Context& context) {
  const bool has_data = !input.files.empty();
  const std::string path = has_data ? first_named(input) : "";
  const std::string named = has_data ? named_text(input) : "nothing";
  const std::uint64_t seen = run.tally.decoded + run.tally.failures.total;
  if (seen == 0 && run.out_of_time) {
    throw Error(ErrorCode::usage,
                fmt::format("--budget: no image came from {} within {}; a longer one sees some", named,
                            format_duration(*budget)),
                path);
  }
  if (seen == 0) throw Error(ErrorCode::not_found, fmt::format("there are no images in {}", named), path);
  if (run.tally.decoded == 0) {
    throw Error(ErrorCode::corrupt,
                fmt::format("not one of {} from {} can be decoded as a JPEG ({} of another format or empty)",
                            format_count(seen, "image"), named, run.tally.failures.not_jpeg),
                path);
  }
  if (run.log.steps() == 0) {
    throw Error(ErrorCode::usage,
                fmt::format("--drop-last: {} fill no step of {} x {}; name a smaller --batch",
                            format_count(run.tally.decoded, "sample"), run.loader.gpus, run.loader.batch));
  }
  if (run.log.steps() == 1) {
    context.warn("one_step", fmt::format("{} made one step; rates hold little and utilisation is not known: a smaller "
                                         "--batch or more data tells more",
                                         format_count(run.log.samples(), "sample")));
  }
}

void warn_of_unclear_loss(const CheckpointInterference& cost, std::uint64_t steps, Context& context) {
  if (cost.lost_ratio) return;
  context.warn(
      "checkpoint_loss_unclear",
      fmt::format("{} in {} are too few, or the machine is too unsteady, to tell what they cost beside the "
                  "{:.1f} % of the time that steps wait for them; more --epochs or a smaller "
                  "--checkpoint-every tells",
                  format_count(cost.written, "checkpoint"), format_count(steps, "step"), cost.share_ratio * 100));
}

class PipelineBench {
 public:
  PipelineBench(const PipelineOptions& options, const InputSet& input, const PipelineMachine& machine, Context& context)
      : options_(options),
        input_(input),
        context_(context),
        setup_(set_up(options)),
        files_(posix_file_system()),
        source_(make()),
        gpus_(choose_gpus(options, setup_, machine, context)),
        decoders_(open_decoders(setup_, gpus_, machine)),
        sink_(make_checked_sink(machine)),
        work_{*source_, *sink_, input.files, options.cache, options.epochs, options.budget, mean_sample_bytes(input)} {
    if (options.trace) AtomicFile(*files_, published_path(*options.trace));  // that it can be written, before measuring
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

  std::unique_ptr<BatchSink> make_checked_sink(const PipelineMachine& machine) {
    check_batch_memory(setup_, mean_sample_bytes(input_));
    if (!decoders_.empty()) {
      setup_.loader.jpegs = decoders_.front().get();
      setup_.loader.largest_device_jpeg = jpeg_memory(setup_, *gpus_.front());
    }
    return make_sink(options_, setup_, gpus_, decoders_, machine, context_);
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
    check_samples(last, input_, options_.budget, context_);
    result.prefetches.push_back(prefetch_row(last));
    result.source = source_->kind();
    if (!input_.files.empty()) result.files = source_->most_readers();  // each is read by one
    result.sink = sink_->name();
    describe_setup(options_, last, setup_, result);
    add_measurement(last, result);
    if (!gpus_.empty()) result.copies = copy_report(options_, gpus_, last.copies);
    if (!decoders_.empty()) result.jpegs = jpeg_report(decoders_.front()->facts(), last.tally);
    if (!input_.files.empty()) {
      result.cache.state = cache_state(result.cache, storage_of(input_.files.front().path).storage_class);
    }
    result.overhead = tool_overhead(calibration, last);
    if (without) result.checkpoint = interference(last, *without, *writer, every);
    if (result.checkpoint) warn_of_unclear_loss(*result.checkpoint, last.log.steps(), context_);
    if (options_.source == SourceKind::null) blame_nothing(result);
    if (trace) result.trace = write_trace(*trace);
  }

  /// Without data there is nothing that could be short, and nothing to help.
  static void blame_nothing(PipelineResult& result) {
    result.limiting_stage.clear();
    result.reason = "nothing was read: what is timed is the tool itself";
    result.advice.clear();
    for (PrefetchRow& row : result.prefetches) row.limiting_stage.clear();
  }

  TraceReport write_trace(const TraceLog& trace) {
    trace.write(*files_, published_path(*options_.trace), "iobench pipeline");
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
  std::vector<Device*> gpus_;
  std::vector<std::unique_ptr<DeviceJpegDecoder>> decoders_;
  std::unique_ptr<BatchSink> sink_;
  PipelineWork work_;
};

/// The GPUs of this machine, opened when the options let them take part.
class OpenMachine {
 public:
  explicit OpenMachine(const PipelineOptions& options) : machine_{{}, open_jpeg_decoder, live_probe()} {
    if (options.sink == SinkKind::host) return;
    try {
      devices_ = open_devices();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported || option_for_gpu(options)) throw;
    }
    machine_.devices = lent(devices_);
  }

  const PipelineMachine& machine() const { return machine_; }

 private:
  std::vector<std::unique_ptr<Device>> devices_;
  PipelineMachine machine_;
};

/// That data is named, unless nothing is to be read.
void check_paths(const PipelineOptions& options) {
  const bool null_source = options.source == SourceKind::null;
  if (null_source && !options.paths.empty()) {
    throw Error(ErrorCode::usage, "PATH: nothing is read with --source null; leave it out");
  }
  if (!null_source && options.paths.empty()) {
    throw Error(ErrorCode::usage, "PATH: name shards, images or a folder of either");
  }
}

}  // namespace

PipelineResult pipeline(const PipelineOptions& options, Context& context) {
  set_up(options);  // what is wrong with the options is said before anything is looked for
  check_paths(options);
  const OpenMachine here(options);  // and so is a GPU that is missing
  const bool reads = options.source == SourceKind::data;
  PipelineResult result =
      pipeline(options, reads ? find_input(options.paths, context) : InputSet{}, here.machine(), context);
  warn_of_failures(result.failures, result.images_tried, context);
  return result;
}

PipelineResult pipeline(const PipelineOptions& options, const InputSet& input, Context& context) {
  return pipeline(options, input, OpenMachine(options).machine(), context);
}

PipelineResult pipeline(const PipelineOptions& options, const InputSet& input, const PipelineMachine& machine,
                        Context& context) {
  if (options.ladder) return climb_ladder(options, input, machine, context);
  return PipelineBench(options, input, machine, context).measure();
}

}  // namespace shardkit
