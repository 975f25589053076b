#include "bench/pipeline/pipeline.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/pipeline/pipeline_report.hpp"
#include "bench/pipeline/pipeline_setup.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/error.hpp"
#include "io/publish.hpp"
#include "system/storage.hpp"

namespace shardkit::bench {
namespace {

constexpr std::uint64_t kReadersOfShards = 4;
constexpr std::uint64_t kReadersOfFiles = 16;

unsigned readers_of(const ImageSource& source, const PipelineOptions& options) {
  const bool files = source.form() == SourceForm::files;
  const std::uint64_t wanted = options.readers.value_or(files ? kReadersOfFiles : kReadersOfShards);
  return static_cast<unsigned>(std::min<std::uint64_t>(wanted, source.most_readers()));
}

/// The mean where all files say how many samples they hold; else a guess, for only reading them tells.
double mean_sample_bytes(const InputSet& input) {
  const std::uint64_t samples = samples_of(input.files).value_or(0);
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
      fmt::format("{} in {} are too few, or the machine is too unsteady, to tell what they cost beside the {:.1f} % of "
                  "the time that steps wait for them; more --epochs or a smaller --checkpoint-every tells",
                  format_count(cost.written, "checkpoint"), format_count(steps, "step"), cost.share_ratio * 100));
}

class PipelineBench {
 public:
  PipelineBench(const PipelineOptions& options, const InputSet& input, const PipelineMachine& machine, Context& context)
      : options_(options),
        input_(input),
        context_(context),
        setup_(set_up(options)),
        files_(io::posix_file_system()),
        source_(make()),
        gpus_(choose_gpus(options, setup_, machine, context)),
        decoders_(open_decoders(setup_, gpus_, machine)),
        sink_(make_checked_sink(machine)),
        work_{*source_, *sink_, input.files, options.cache, options.epochs, options.budget, mean_sample_bytes(input)} {
    if (options.trace)
      io::AtomicFile(*files_, io::published_path(*options.trace));  // that it can be written, before measuring
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
  std::unique_ptr<ImageSource> make() {
    if (options_.source == SourceKind::null) return null_source();
    return make_source(input_, {options_.shuffle_buffer > 0, options_.seed}, context_);
  }

  std::unique_ptr<BatchSink> make_checked_sink(const PipelineMachine& machine) {
    check_batch_memory(setup_, mean_sample_bytes(input_));
    if (!decoders_.empty()) {
      setup_.loader.jpegs = decoders_.front().get();
      setup_.loader.largest_device_jpeg = jpeg_memory(setup_, *gpus_.front());
    }
    return make_sink(setup_, gpus_, decoders_, machine, context_);
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
    result.source = source_->form();
    if (!input_.files.empty()) result.files = source_->most_readers();  // each is read by one
    result.sink = sink_->kind();
    describe_setup(options_, last, setup_, result);
    add_measurement(last, result);
    if (!gpus_.empty()) result.copies = copy_report(last, gpus_);
    if (!decoders_.empty()) result.jpegs = jpeg_report(decoders_.front()->facts(), last.tally);
    if (!input_.files.empty()) {
      const bool is_remote = has_objects(input_.files);
      result.cache.state = is_remote
                               ? CacheState::unknown
                               : cache_state(result.cache, system::storage_of(input_.files.front().path).storage_class);
    }
    result.overhead = tool_overhead(calibration, last);
    if (without) result.checkpoint = interference(last, *without, *writer, every);
    if (result.checkpoint) warn_of_unclear_loss(*result.checkpoint, last.log.steps(), context_);
    if (options_.source == SourceKind::null) blame_nothing(result);
    if (trace) result.trace = write_trace(*trace);
  }

  /// Without data there is nothing that could be short, and nothing to help.
  static void blame_nothing(PipelineResult& result) {
    static_cast<PipelineVerdict&>(result) = {{}, "nothing was read: what is timed is the tool itself", {}};
    for (PrefetchRow& row : result.prefetches) row.limiting_stage.clear();
  }

  TraceReport write_trace(const TraceLog& trace) {
    trace.write(*files_, io::published_path(*options_.trace), "iobench pipeline");
    return {*options_.trace, trace.events(), trace.dropped()};
  }

  /// Steps of an epoch that reads nothing, where no limit was named.
  static constexpr std::uint64_t kNullSteps = 200;

  const PipelineOptions& options_;
  const InputSet& input_;
  Context& context_;
  PipelineSetup setup_;
  std::unique_ptr<io::FileSystem> files_;
  std::unique_ptr<ImageSource> source_;
  std::vector<gpu::Device*> gpus_;
  std::vector<std::unique_ptr<gpu::DeviceJpegDecoder>> decoders_;
  std::unique_ptr<BatchSink> sink_;
  PipelineWork work_;
};

/// The GPUs of this machine, opened when the options let them take part.
class OpenMachine {
 public:
  explicit OpenMachine(const PipelineOptions& options) : machine_{{}, gpu::open_jpeg_decoder, system::live_probe()} {
    if (options.sink == SinkKind::host) return;
    try {
      devices_ = gpu::open_devices();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported || option_for_gpu(options)) throw;
    }
    machine_.devices = gpu::lent(devices_);
  }

  const PipelineMachine& machine() const { return machine_; }

 private:
  std::vector<std::unique_ptr<gpu::Device>> devices_;
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
  PipelineResult result = pipeline(options, reads ? find_input(options.paths, context, options.access) : InputSet{},
                                   here.machine(), context);
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

void StageRow::describe(FieldVisitor& v) {
  v.field({"name", "stage"}, name);
  v.field({"threads", Unit::count, "threads; decode and augment share theirs"}, threads);
  v.field({"busy", Unit::ratio, "share of their time at work on this stage"}, busy_ratio);
  v.field({"starved", Unit::ratio, "share of it spent before the stage: waiting for what comes in"}, starved_ratio);
  v.field({"blocked", Unit::ratio, "share of it spent behind the stage: waiting for room"}, blocked_ratio);
  v.field({"cpu_seconds_per_sample", Unit::seconds, "processor time of the stage, over samples"},
          cpu_seconds_per_sample);
}

void EpochRow::describe(FieldVisitor& v) {
  v.field({"epoch", "from 1"}, epoch);
  v.field({"residency_before_ratio", Unit::ratio, "share of the data in the page cache before; none: not known"},
          residency_before_ratio);
  v.field({"steps", Unit::count, "steps"}, steps);
  v.field({"samples", Unit::count, "samples that steps took"}, samples);
  v.field({"samples_per_second", Unit::per_second, "after the epoch's first batch"}, samples_per_second);
  v.field({"first_batch_seconds", Unit::seconds, "from the epoch's start to its first batch"}, first_batch_seconds);
  v.field({"stall_ratio", Unit::ratio, "share of the time after its first step that steps waited"}, stall_ratio);
  v.field({"boundary_stall_seconds", Unit::seconds, "from the end of the last epoch's last step to this one's first"},
          boundary_stall_seconds);
}

void PrefetchRow::describe(FieldVisitor& v) {
  v.field({"prefetch", "batches per GPU made ahead"}, prefetch);
  v.field({"samples_per_second", Unit::per_second, "samples that steps took"}, samples_per_second);
  v.field({"batch_latency", Unit::seconds, "time that steps waited for their batches"}, batch_latency);
  v.field({"stall_ratio", Unit::ratio, "share of the time that steps waited"}, stall_ratio);
  v.field({"au_ratio", Unit::ratio, "accelerator utilisation"}, au_ratio);
  v.field({"limiting_stage", "what sets the pace"}, limiting_stage);
}

void ToolOverhead::describe(FieldVisitor& v) {
  v.field({"samples_per_second", Unit::per_second, "with nothing to read, decode or compute"}, samples_per_second);
  v.field({"cpu_seconds_per_sample", Unit::seconds, "processor time of passing a sample on"}, cpu_seconds_per_sample);
  v.field({"cpu_seconds_per_batch", Unit::seconds, "processor time of handing over a batch and taking it"},
          cpu_seconds_per_batch);
  v.field({"share_ratio", Unit::ratio, "that, over the processor time of a sample as measured"}, share_ratio);
  v.field({"step_late_mean", Unit::seconds, "how late the tool noticed the end of a step; it does not add up"},
          step_late_mean);
  v.field({"step_late_max", Unit::seconds, "the latest of all"}, step_late_max);
}

void CheckpointInterference::describe(FieldVisitor& v) {
  v.field({"every", "steps from one to the next"}, every);
  v.field({"bytes", Unit::bytes, "size"}, bytes);
  v.field({"written", Unit::count, "checkpoints"}, written);
  v.field({"mean_seconds", Unit::seconds, "writing and fdatasync, all the while training waits"}, mean_seconds);
  v.field({"max_seconds", Unit::seconds, "the longest"}, max_seconds);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes over that time"}, bytes_per_second);
  v.field({"share_ratio", Unit::ratio, "of the running time"}, share_ratio);
  v.field({"samples_per_second_with", Unit::per_second, "samples that steps took with checkpoints"},
          samples_per_second_with);
  v.field({"samples_per_second_without", Unit::per_second, "the same without, in a run before"},
          samples_per_second_without);
  v.field({"lost_ratio", Unit::ratio,
           "of the samples per second; absent of fewer than 5 checkpoints, and where it was not slower with them"},
          lost_ratio);
}

void TraceReport::describe(FieldVisitor& v) {
  v.field({"file", "the trace"}, file);
  v.field({"events", Unit::count, "in it"}, events);
  v.field({"dropped", Unit::count, "older ones that had to make room"}, dropped);
}

void PipelineVerdict::describe(FieldVisitor& v) {
  v.field({"limiting_stage", "the stage that sets the pace"}, limiting_stage);
  v.field({"reason", "why, in one line"}, reason);
  v.field({"advice", "settings that would help"}, advice);
}

void PipelineTerms::describe(FieldVisitor& v) {
  v.field({"source", "what was read: shards, files or null"}, source);
  v.field({"files", Unit::count, "shards or image files", kCondition}, files);
  v.field({"decode", "how images became pixels"}, decode);
  v.field({"sink", "where batches were handed over to; host: nothing is copied", kCondition}, sink);
  v.field({"normalize", "where samples were flipped and normalised", kCondition}, normalize);
  v.field({"gpus", "GPUs that stepped together", kOwnCondition}, gpus);
  v.field({"batch", "samples per GPU and step"}, batch);
  v.field({"step", "what computing was"}, step);
  v.field({"step_seconds", Unit::seconds, "that a step was to compute", kCondition}, step_seconds);
  v.field({"prefetch", "batches per GPU made ahead; the last value of --prefetch"}, prefetch);
  v.field({"readers", Unit::count, "threads that read"}, readers);
  v.field({"workers", Unit::count, "threads that decode and augment", kCondition}, workers);
  v.field({"crop", "side of the crop in pixels", kCondition}, crop);
  v.field({"dtype", "type of the batch's values", kCondition}, dtype);
  v.field({"layout", "planes or pixels first", kCondition}, layout);
  v.field({"batch_memory", Unit::bytes, "memory that holds batches"}, batch_memory);
}

void PipelineRates::describe(FieldVisitor& v) {
  v.field({"steps", Unit::count, "in all epochs"}, steps);
  v.field({"samples", Unit::count, "that steps took, in all epochs"}, samples);
  v.field({"samples_dropped", Unit::count, "left out at the ends of epochs, with --drop-last"}, samples_dropped);
  v.field({"required_samples_per_second", Unit::per_second, "what the job takes when it never waits"},
          required_samples_per_second);
  v.field({"samples_per_second", Unit::per_second, "samples that steps took, after the first batch",
           metric(Better::higher)},
          samples_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "compressed bytes of as many"}, bytes_per_second);
  v.field({"mean_sample", Unit::bytes, "mean size of a compressed image", condition_within(0.05)}, mean_sample);
  v.field({"batch_latency", Unit::seconds, "time that a step waited for its batches, the first step left out",
           metric(Better::lower, kUnfeltWait)},
          batch_latency);
  v.field({"first_batch_seconds", Unit::seconds, "that the first step waited"}, first_batch_seconds);
  v.field({"stall_ratio", Unit::ratio, "share of the running time that steps waited, the first step left out"},
          stall_ratio);
  v.field({"au_ratio", Unit::ratio, "computing over running time, the first step left out; none without --step-time",
           metric(Better::higher, 0.01)},
          au_ratio);
}

void PipelineResult::describe(FieldVisitor& v) {
  PipelineVerdict::describe(v);
  PipelineTerms::describe(v);
  PipelineRates::describe(v);
  v.field({"stages", "what each stage's threads did"}, stages);
  v.field({"cpu_seconds_per_sample", Unit::seconds, "of all stages' threads together"}, cpu_seconds_per_sample);
  v.field({"process_cpu_seconds_per_sample", Unit::seconds, "of the whole process, threads of drivers among them"},
          process_cpu_seconds_per_sample);
  v.field({"epochs", "cold against warm"}, epochs);
  v.field({"prefetches", "a row for each value of --prefetch"}, prefetches);
  v.field({"ladder", "a row for each rung; none without --ladder"}, ladder);
  v.field({"cache", "the page cache, before the first epoch and after the last", kCondition}, cache);
  v.field({"copies", "to GPUs, in all epochs; none where batches stayed in host memory"}, copies);
  v.field({"jpegs", "who decoded; none without --decode nvjpeg"}, jpegs);
  v.field({"failures", "images that went wrong, by kind; they are in no batch"}, failures);
  v.field({"images_tried", Unit::count, "images that came to be decoded, once for each epoch"}, images_tried);
  v.field({"overhead", "the tool's own, measured before"}, overhead);
  v.field({"checkpoint", "what checkpoints cost; none without --checkpoint-every"}, checkpoint);
  v.field({"trace", "none without --trace"}, trace);
}

}  // namespace shardkit::bench
