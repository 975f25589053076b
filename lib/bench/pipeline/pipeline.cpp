#include "bench/pipeline/pipeline.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "bench/pipeline/pipeline_report.hpp"
#include "bench/pipeline/pipeline_setup.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/error.hpp"
#include "gpu/device.hpp"
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

/// The mean if all files have a known number of samples; else a guess, because only reading shows them.
double mean_sample_bytes(const InputSet& input) {
  const std::uint64_t samples = samples_of(input.files).value_or(0);
  return samples > 0 ? static_cast<double>(input.bytes) / static_cast<double>(samples) : kGuessedSampleBytes;
}

/// That there was something to measure.
void check_samples(const PipelineRun& run, const InputSet& input, std::optional<double> budget) {
  const std::string path = first_named(input);
  const std::string named = named_text(input);
  const std::uint64_t seen = run.tally.decoded + run.tally.failures.total;
  if (seen == 0 && run.out_of_time) {
    throw Error(ErrorCode::usage, At{path}, "--budget: no image was read from {} within {}; use a longer one", named,
                format_duration(*budget));
  }
  if (seen == 0) throw Error(ErrorCode::not_found, At{path}, "found no images in {}", named);
  if (run.tally.decoded == 0) {
    throw Error(ErrorCode::corrupt, At{path}, "none of {} from {} can be decoded ({} of another format or empty)",
                format_count(seen, "image"), named, run.tally.failures.not_jpeg + run.tally.failures.other_format);
  }
}

/// GPU memory for decoded images: 1 MiB per sample, 64 MiB to 1 GiB, at most a quarter of the free memory.
std::uint64_t jpeg_memory(const PipelineSetup& setup, const gpu::Device& gpu) {
  constexpr std::uint64_t kSample = 1U << 20U;
  constexpr std::uint64_t kLeast = 64U << 20U;
  constexpr std::uint64_t kMost = 1U << 30U;
  return std::min(std::clamp(setup.loader.batch * kSample, kLeast, kMost), gpu.free_memory() / 4);
}

/// The sink for these GPUs; the host's if there are none. Throws like GpuSink.
std::unique_ptr<BatchSink> make_sink(const PipelineSetup& setup, const std::vector<gpu::Device*>& gpus,
                                     const std::vector<std::unique_ptr<gpu::DeviceJpegDecoder>>& decoders,
                                     const GpuMachine& machine, Context& context) {
  if (gpus.empty()) return host_sink();
  LoaderSettings settings = setup.loader;
  settings.prefetch = *std::ranges::max_element(setup.prefetches);
  std::vector<gpu::DeviceJpegDecoder*> lent;
  for (const auto& decoder : decoders) lent.push_back(decoder.get());
  return std::make_unique<GpuSink>(settings, gpus, lent, machine.probe, context);
}

class PipelineBench {
 public:
  PipelineBench(const PipelineOptions& options, const InputSet& input, const GpuMachine& machine, Context& context)
      : options_(options),
        input_(input),
        context_(context),
        setup_(set_up(options)),
        files_(io::posix_file_system()),
        source_(make_source(input, context)),
        gpus_(choose_gpus(options, setup_, machine, context)),
        decoders_(open_decoders(setup_, gpus_, machine, context_)),
        sink_(make_checked_sink(machine)),
        work_{*source_, *sink_, input.files, options.cache, options.epochs, options.budget, mean_sample_bytes(input)} {
    if (options.trace)
      io::AtomicFile(*files_, io::published_path(*options.trace));  // that it can be written, before measuring
    setup_.loader.readers = readers_of(*source_, options);
    check_on_disk(input.files, use_of_disk(options.cache), context, asking_seconds(options.budget, kShareForAsking));
  }

  PipelineResult measure() {
    runs_ = setup_.prefetches.size();
    if (runs_ > 1) context_.progress().expect_stages(runs_);
    const PipelineRun calibration = calibrate(setup_, context_);
    PipelineResult result;
    for (std::size_t i = 0; i + 1 < setup_.prefetches.size(); ++i) {
      const PipelineRun measured = run(setup_.prefetches[i], nullptr);
      if (is_stopped()) return describe(calibration, measured, result), result;
      result.prefetches.push_back(prefetch_row(measured));
    }
    measure_last(calibration, result);
    return result;
  }

 private:
  std::unique_ptr<BatchSink> make_checked_sink(const GpuMachine& machine) {
    check_batch_memory(setup_, mean_sample_bytes(input_));
    if (!decoders_.empty()) {
      setup_.loader.jpegs = decoders_.front().get();
      setup_.loader.largest_device_jpeg = jpeg_memory(setup_, *gpus_.front());
    }
    return make_sink(setup_, gpus_, decoders_, machine, context_);
  }

  PipelineRun run(std::uint64_t prefetch, TraceLog* trace) {
    LoaderSettings loader = setup_.loader;
    loader.prefetch = prefetch;
    if (runs_ > 1) context_.progress().next_stage();
    return run_pipeline(work_, loader, setup_.step, trace, context_);
  }

  /// The value of --prefetch that the result is about, with the trace.
  void measure_last(const PipelineRun& calibration, PipelineResult& result) {
    std::optional<TraceLog> trace;
    const std::size_t threads = std::size_t{setup_.loader.readers} + setup_.loader.workers + 2;
    if (options_.trace) trace.emplace(threads, std::chrono::steady_clock::now());
    const PipelineRun last = run(setup_.prefetches.back(), trace ? &*trace : nullptr);
    describe(calibration, last, result);
    if (trace) result.trace = write_trace(*trace);
  }

  bool is_stopped() const { return context_.stop_token().stop_requested(); }

  /// The result is about the run `last`. After a stop it contains what was measured until then.
  void describe(const PipelineRun& calibration, const PipelineRun& last, PipelineResult& result) {
    result.interrupted = is_stopped();
    check_samples(last, input_, options_.budget);
    result.prefetches.push_back(prefetch_row(last));
    result.source = source_->form();
    result.files = source_->most_readers();  // each is read by one
    result.sink = sink_->kind();
    describe_setup(options_, last, setup_, result);
    add_measurement(last, options_.advised, result);
    if (!gpus_.empty()) result.copies = copy_report(last, gpus_);
    if (!decoders_.empty()) result.jpegs = jpeg_report(decoders_.front()->facts(), last.tally);
    const bool is_remote = has_objects(input_.files);
    result.cache.state = is_remote
                             ? CacheState::unknown
                             : cache_state(result.cache, system::storage_of(input_.files.front().path).storage_class);
    result.overhead = tool_overhead(calibration, last);
    result.neighbors = last.neighbors;
  }

  TraceReport write_trace(const TraceLog& trace) {
    trace.write(*files_, io::published_path(*options_.trace), "iobench pipeline");
    return {*options_.trace, trace.events(), trace.dropped()};
  }

  const PipelineOptions& options_;
  const InputSet& input_;
  Context& context_;
  PipelineSetup setup_;
  std::unique_ptr<io::FileSystem> files_;
  std::unique_ptr<ImageSource> source_;
  std::vector<gpu::Device*> gpus_;
  std::vector<std::unique_ptr<gpu::DeviceJpegDecoder>> decoders_;
  std::unique_ptr<BatchSink> sink_;
  PipelineInput work_;
  std::size_t runs_ = 1;
};

GpuUse use_of(const PipelineOptions& options) {
  if (options.device == kNoDevice) return GpuUse::none;
  return option_for_gpu(options) ? GpuUse::needed : GpuUse::if_available;
}

std::array<PipelineRung, 5> rungs(const PipelineOptions& options) {
  using enum DecodeKind;
  const auto rung = [](std::string name, bool pinned, std::uint64_t prefetch, DecodeKind decode, NormalizeKind kind) {
    PipelineRung row;
    row.rung = std::move(name);
    row.pinned = pinned;
    row.prefetch = prefetch;
    row.decode = decode;
    row.normalize = kind;
    return row;
  };
  return {rung("naive", false, 0, cpu, NormalizeKind::cpu),
          rung("pinned, one batch prefetched", true, 1, cpu, NormalizeKind::cpu),
          rung("normalized on the GPU", true, 1, cpu, NormalizeKind::gpu),
          rung("nvJPEG", true, 1, nvjpeg, NormalizeKind::gpu),
          rung("all overlapped", true, parse_prefetches(options.prefetch).front(), nvjpeg, NormalizeKind::gpu)};
}

void fill(const PipelineResult& result, PipelineRung& row) {
  row.samples_per_second = result.samples_per_second;
  row.stall_ratio = result.stall_ratio;
  row.au_ratio = result.au_ratio;
  row.process_cpu_seconds_per_sample = result.process_cpu_seconds_per_sample;
  row.limiting_stage = result.limiting_stage;
}

PipelineOptions options_of(const PipelineRung& rung, PipelineOptions options) {
  options.ladder = false;
  options.pinned = rung.pinned;
  options.prefetch = std::to_string(rung.prefetch);
  options.backend = rung.decode;
  options.normalize_on_gpu = rung.normalize == NormalizeKind::gpu;
  if (options.cache == CacheRequest::any) options.cache = CacheRequest::warm;
  return options;
}

/// Measures a rung. Empty, with the reason in `rung`, if images cannot be decoded on these GPUs.
std::optional<PipelineResult> climb(const PipelineOptions& options, const InputSet& input, const GpuMachine& machine,
                                    Context& context, PipelineRung& rung) {
  try {
    PipelineResult result = pipeline(options_of(rung, options), input, machine, context);
    fill(result, rung);
    return result;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported || rung.decode != DecodeKind::nvjpeg) throw;
    rung.missing = error.what();
    return std::nullopt;
  }
}

/// Measures the same data on each rung, from the same cache state: naive (pageable memory, no
/// prefetch), pinned memory with one batch prefetched, normalized on the GPU, decoded there, and --prefetch batches so
/// that all stages overlap. If any cache state is allowed, the page cache is warmed before each. A rung whose library
/// is missing has the reason; then the last one decodes on the CPU. The result is that of the last rung, with all rows.
PipelineResult climb_ladder(const PipelineOptions& options, const InputSet& input, const GpuMachine& machine,
                            Context& context) {
  if (machine.devices.empty()) throw Error(ErrorCode::unsupported, "--ladder: no GPU is available");
  std::vector<PipelineRung> rows;
  PipelineResult last;
  double before = 0;
  bool decodes = true;
  auto all = rungs(options);
  context.progress().expect_stages(all.size());
  for (PipelineRung& rung : all) {
    if (!decodes) rung.decode = DecodeKind::cpu;
    context.progress().next_stage();
    if (auto result = climb(options, input, machine, context, rung)) {
      last = *std::move(result);
      if (before > 0) rung.factor = last.samples_per_second / before;
      before = last.samples_per_second;
    }
    decodes = !rung.missing;
    rows.push_back(std::move(rung));
    if (last.interrupted) break;
  }
  last.ladder = std::move(rows);
  return last;
}

}  // namespace

PipelineResult pipeline(const PipelineOptions& options, Context& context) {
  check_options(options);                // wrong options are reported before the search for devices
  const OpenGpus gpus(use_of(options));  // and so is a GPU that is missing
  PipelineResult result =
      pipeline(options, find_input(options.paths, context, options.access), gpus.machine(), context);
  warn_of_failures(result.failures, result.images_tried, context);
  warn_of_neighbors(result.neighbors, context);
  if (result.steps < kLeastSteps) {
    context.warn("few_steps",
                 fmt::format("{} made only {}, but {} are needed for a rate: rates, utilization and "
                             "bottleneck are imprecise; use more --epochs, a smaller --batch or more data",
                             format_count(result.samples, "sample"), format_count(result.steps, "step"), kLeastSteps));
  }
  return result;
}

PipelineResult pipeline(const PipelineOptions& options, const InputSet& input, Context& context) {
  return pipeline(options, input, OpenGpus(use_of(options)).machine(), context);
}

PipelineResult pipeline(const PipelineOptions& options, const InputSet& input, const GpuMachine& machine,
                        Context& context) {
  if (options.ladder) return climb_ladder(options, input, machine, context);
  return PipelineBench(options, input, machine, context).measure();
}

void StageRow::describe(FieldList& v) {
  v.field({"name", "stage", kLabel}, name);
  v.field({"threads", Unit::count, "threads; decode and augment share theirs"}, threads);
  v.field({"busy", Unit::ratio, "share of their time that they worked on this stage"}, busy_ratio);
  v.field({"starved", Unit::ratio, "share of their time that they waited for input"}, starved_ratio);
  v.field({"blocked", Unit::ratio, "share of their time that they waited to pass on their output"}, blocked_ratio);
  v.field({"cpu_seconds_per_sample", Unit::seconds, "CPU time of the stage divided by samples"},
          cpu_seconds_per_sample);
}

void EpochRow::describe(FieldList& v) {
  v.field({"epoch", "number of the epoch, from 1"}, epoch);
  v.field({"residency_before_ratio", Unit::ratio, "share of the data in the page cache before; absent: unknown"},
          residency_before_ratio);
  v.field({"steps", Unit::count, "steps"}, steps);
  v.field({"samples", Unit::count, "samples used by training steps"}, samples);
  v.field({"samples_per_second", Unit::per_second, "rate after the first batch of the epoch"}, samples_per_second);
  v.field({"first_batch_seconds", Unit::seconds, "time from the start of the epoch to its first batch"},
          first_batch_seconds);
  v.field({"stall_ratio", Unit::ratio, "share of the time after the first step that steps waited"}, stall_ratio);
  v.field({"boundary_stall_seconds", Unit::seconds,
           "time from the end of the last step of the previous epoch to the first step of this one"},
          boundary_stall_seconds);
}

void PrefetchRow::describe(FieldList& v) {
  v.field({"prefetch", "batches prefetched per GPU"}, prefetch);
  v.field({"samples_per_second", Unit::per_second, "samples used by training steps"}, samples_per_second);
  v.field({"batch_latency", Unit::seconds, "time that steps waited for their batches"}, batch_latency);
  v.field({"stall_ratio", Unit::ratio, "share of the time that steps waited"}, stall_ratio);
  v.field({"au_ratio", Unit::ratio, "accelerator utilization"}, au_ratio);
  v.field({"limiting_stage", "bottleneck"}, limiting_stage);
}

void ToolOverhead::describe(FieldList& v) {
  v.field({"samples_per_second", Unit::per_second, "rate with nothing to read, decode or compute"}, samples_per_second);
  v.field({"cpu_seconds_per_sample", Unit::seconds, "CPU time to pass on a sample"}, cpu_seconds_per_sample);
  v.field({"cpu_seconds_per_batch", Unit::seconds, "CPU time to hand over and take a batch"}, cpu_seconds_per_batch);
  v.field({"share_ratio", Unit::ratio, "that time divided by the measured CPU time of a sample"}, share_ratio);
  v.field({"step_late_mean", Unit::seconds, "mean delay until the end of a step was noticed; delays do not add up"},
          step_late_mean);
  v.field({"step_late_max", Unit::seconds, "longest delay"}, step_late_max);
}

void PipelineRung::describe(FieldList& v) {
  v.field({"rung", "the loader: what it adds to the previous one"}, rung);
  v.field({"missing", "why it was not measured; absent if it was"}, missing);
  v.field({"pinned", "kind of host memory"}, pinned);
  v.field({"prefetch", "batches prefetched per GPU"}, prefetch);
  v.field({"decode", "how images were decoded"}, decode);
  v.field({"normalize", "where samples were flipped and normalized"}, normalize);
  v.field({"samples_per_second", Unit::per_second, "rate of samples used by training steps"}, samples_per_second);
  v.field({"factor", "that rate divided by the rate of the previous measured loader"}, factor);
  v.field({"stall_ratio", Unit::ratio, "share of the time that steps waited"}, stall_ratio);
  v.field({"au_ratio", Unit::ratio, "accelerator utilization"}, au_ratio);
  v.field({"process_cpu_seconds_per_sample", Unit::seconds, "CPU time of the whole process"},
          process_cpu_seconds_per_sample);
  v.field({"limiting_stage", "bottleneck"}, limiting_stage);
}

void TraceReport::describe(FieldList& v) {
  v.field({"file", "path of the trace"}, file);
  v.field({"events", Unit::count, "events in the trace"}, events);
  v.field({"dropped", Unit::count, "older events that were overwritten"}, dropped);
}

void PipelineVerdict::describe(FieldList& v) {
  v.field({"limiting_stage", "the bottleneck"}, limiting_stage);
  v.field({"reason", "the reason in one line"}, reason);
  v.field({"advice", "settings that would help"}, advice);
}

void PipelineTerms::describe(FieldList& v) {
  v.field({"source", "source: shards, files or null"}, source);
  v.field({"files", Unit::count, "number of shards or image files", data_within(0)}, files);
  v.field({"decode", "how images were decoded"}, decode);
  v.field({"sink", "where batches went; host: nothing is copied", kCondition}, sink);
  v.field({"normalize", "where samples were flipped and normalized", kCondition}, normalize);
  v.field({"gpus", "GPUs that step together", kOwnCondition}, gpus);
  v.field({"batch", "samples per GPU and training step"}, batch);
  v.field({"step", "how a training step was emulated"}, step);
  v.field({"step_seconds", Unit::seconds, "time of a training step", kCondition}, step_seconds);
  v.field({"prefetch", "batches prefetched per GPU; the last value of --prefetch"}, prefetch);
  v.field({"readers", Unit::count, "reading threads"}, readers);
  v.field({"workers", Unit::count, "threads that decode and augment", kCondition}, workers);
  v.field({"crop", "width and height of the crop in pixels", kCondition}, crop);
  v.field({"dtype", "data type of the batch", kCondition}, dtype);
  v.field({"batch_memory", Unit::bytes, "memory for batches"}, batch_memory);
}

void PipelineRates::describe(FieldList& v) {
  v.field({"steps", Unit::count, "steps in all epochs"}, steps);
  v.field({"samples", Unit::count, "samples used by training steps, in all epochs"}, samples);
  v.field({"required_samples_per_second", Unit::per_second, "rate that the job would need to never wait"},
          required_samples_per_second);
  v.field({"samples_per_second", Unit::per_second, "rate of samples used by training steps, after the first batch",
           metric(Better::higher)},
          samples_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "compressed bytes of these samples"}, bytes_per_second);
  v.field({"mean_sample", Unit::bytes, "mean size of a compressed image", data_within(0.05)}, mean_sample);
  v.field({"batch_latency", Unit::seconds, "time that a step waited for its batches, without the first step",
           metric(Better::lower, kUnfeltWait)},
          batch_latency);
  v.field({"first_batch_seconds", Unit::seconds, "time that the first step waited"}, first_batch_seconds);
  v.field({"stall_ratio", Unit::ratio, "share of the running time that steps waited, without the first step"},
          stall_ratio);
  v.field({"au_ratio", Unit::ratio,
           "compute time divided by running time, without the first step; absent without --step-time",
           metric(Better::higher, 0.01)},
          au_ratio);
}

void PipelineResult::describe(FieldList& v) {
  PipelineVerdict::describe(v);
  PipelineTerms::describe(v);
  PipelineRates::describe(v);
  v.field({"stages", "activity of the threads of each stage"}, stages);
  v.field({"cpu_seconds_per_sample", Unit::seconds, "CPU time of the threads of all stages"}, cpu_seconds_per_sample);
  v.field({"process_cpu_seconds_per_sample", Unit::seconds, "CPU time of the whole process, including driver threads"},
          process_cpu_seconds_per_sample);
  v.field({"epochs", "comparison of cold and warm epochs"}, epochs);
  v.field({"prefetches", "one row per value of --prefetch"}, prefetches);
  v.field({"ladder", "one row per loader that --ladder compares; absent without it"}, ladder);
  v.field({"cache", "page cache state before the first epoch and after the last", kCondition}, cache);
  v.field({"copies", "copies to GPUs, in all epochs; absent if batches stayed in host memory"}, copies);
  v.field({"jpegs", "samples by decoder; absent without --backend nvjpeg"}, jpegs);
  v.field({"failures", "images that could not be decoded, by kind; they are in no batch"}, failures);
  v.field({"images_tried", Unit::count, "images that were passed to a decoder, counted once per epoch"}, images_tried);
  v.field({"overhead", "overhead of iobench, measured first"}, overhead);
  v.field({"trace", "absent without --trace"}, trace);
  v.field({"neighbors", "what other processes used meanwhile"}, neighbors);
}

}  // namespace shardkit::bench
