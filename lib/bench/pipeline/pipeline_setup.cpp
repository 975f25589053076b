#include "bench/pipeline/pipeline_setup.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "bench/input/jpeg_store.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "gpu/device.hpp"
#include "system/limits.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {
namespace {

constexpr std::uint64_t kMostPrefetch = 64;

/// Numbers with commas between them; throws Error{usage} with `expected` for anything else.
std::vector<std::uint64_t> listed_numbers(const std::string& text, const std::string& expected) {
  std::vector<std::uint64_t> numbers;
  for (const auto word : std::views::split(text, ',')) {
    const auto number = parse_count({word.begin(), word.end()});
    check_usage(number.has_value(), expected);
    numbers.push_back(*number);
  }
  check_usage(!numbers.empty(), expected);
  return numbers;
}

/// The GPUs that --device lists; none without it.
std::vector<std::uint64_t> listed_devices(const PipelineOptions& options) {
  if (options.device.empty() || options.device == kNoDevice) return {};
  const std::string expected = fmt::format(
      "--device: expected different GPU numbers separated by commas, such as 0,1, or none; got '{}'", options.device);
  const auto numbers = listed_numbers(options.device, expected);
  check_usage(std::set(numbers.begin(), numbers.end()).size() == numbers.size(), expected);
  return numbers;
}

/// Checks the uses of GPUs, and that they are not requested and refused at once.
void check_gpu_options(const PipelineOptions& options) {
  const auto option = option_for_gpu(options);
  check_usage(
      options.device != kNoDevice || !option,
      fmt::format("{} needs a GPU, which --device none does not use; leave out one of them", option.value_or("")));
  const std::size_t listed = listed_devices(options).size();
  check_usage(listed <= options.gpus.value_or(listed),
              fmt::format("--device: {} listed, but {} step together; raise --gpus", format_count(listed, "GPU"),
                          options.gpus.value_or(0)));
}

void warn_of_sharing(std::uint64_t gpus, std::size_t devices, Context& context) {
  context.warn("gpus_share_devices",
               fmt::format("{} GPUs step together, but {} here: batches go there one after the other, and links and "
                           "memory carry the load of several GPUs",
                           gpus, devices == 1 ? "only one is" : fmt::format("only {} are", devices)));
}

/// From the decoded image to the end of a run.
void describe_stages(FieldList& v, PipelineOptions& options) {
  v.topic("Decoding");
  v.field({"backend", "nvjpeg: decodes on the GPU what nvJPEG supports; null: decodes nothing, to measure only reading",
           Misnomers{"decode source"}},
          options.backend);
  v.field({"crop", Unit::count, "width and height of the random resized crop", "PIXELS", between(1, kMostCrop)},
          options.crop);
  v.field({"dtype", "data type of the batch"}, options.dtype);
  v.topic("Batches and GPUs");
  v.field({"device",
           "GPUs to which batches go, by number; none: they stay in host memory; default: the first GPUs, if available",
           "N[,N...]|none", Misnomers{"sink"}},
          options.device);
  v.field({"step", "how to emulate a training step; spin: with a kernel on each GPU"}, options.step);
  v.topic("Measurement");
  v.field({"ladder", "compare several loaders, from a naive one to one in which all stages overlap"}, options.ladder);
  v.field({"samples", Unit::count, "maximum number of samples per epoch; default: all", kMayDiffer,
           between(1, 1ULL << 48U)},
          options.samples);
  v.field({"budget", Unit::seconds, "stop reading new samples after this time, for each value of --prefetch",
           kMayDiffer, above(0, kDay), Misnomers{"min-seconds min-time seconds duration"}},
          options.budget);
  v.field({"trace", "write a Chrome trace, which ui.perfetto.dev opens", Role::output_file, kMayDiffer}, options.trace);
}

/// Without a device if there are no files, or they are in a store.
system::StorageFacts storage_of(std::span<const InputFile> files) {
  return files.empty() || has_objects(files) ? system::StorageFacts() : system::storage_of(files.front().path);
}

/// Throws Error{usage} for options that the ladder sets itself, or that do not apply to several rungs.
void check_ladder(const PipelineOptions& options) {
  if (!options.ladder) return;
  const auto refuse = [](std::string_view option, std::string_view why) { throw usage_error("{}: {}", option, why); };
  constexpr std::string_view kSet = "--ladder sets it for each loader that it compares; leave it out";
  if (options.backend != DecodeKind::cpu) refuse("--backend", kSet);
  const auto prefetches = parse_prefetches(options.prefetch);
  if (prefetches.size() > 1 || prefetches.front() < 2) {
    refuse("--prefetch", "with --ladder, give one number of at least 2: the prefetch of the last loader");
  }
  if (options.trace) refuse("--trace", "a trace is of one run, but --ladder makes several");
}

}  // namespace

void PipelineOptions::describe(FieldList& v) {
  v.field({"PATH", "shards, image files, or folders of either", Role::positional, kMayDiffer}, paths);
  v.topic("Training job");
  v.field(
      {"preset", "published workload that sets batch and step time (iobench model --list-presets)", "NAME", kMayDiffer},
      preset);
  v.field({"gpus", Unit::count, "GPUs that step together; default: those of --device, else 1", kMayDiffer,
           between(1, 1024)},
          gpus);
  v.field({"batch", Unit::count, "samples per GPU and training step; default: that of the preset, else 256",
           between(1, 1U << 20U)},
          batch);
  v.field({"step-time", Unit::seconds, "time that a GPU computes one batch; default: that of the preset, else none",
           between(0, kDay), kOfTrainingStep},
          step_time);
  v.topic("Reading and loading");
  v.field({"epochs", Unit::count, "passes over the data; the first starts from the requested cache state",
           between(1, 1'000'000)},
          epochs);
  v.field({"prefetch", "batches prefetched per GPU; several values are measured one after the other", "N[,N...]"},
          prefetch);
  v.field({"workers", Unit::count, "threads that decode and augment; default: CPUs available to the process", 'j',
           between(1, system::kMostThreads)},
          workers);
  v.field({"cache", "state of the page cache before the first epoch", kMayDiffer}, cache);
  describe_stages(v, *this);
  access.describe(v);
}

std::vector<std::uint64_t> parse_prefetches(const std::string& text) {
  const std::string expected = fmt::format(
      "--prefetch: expected numbers from 0 to {} separated by commas, such as 0,1,2,4; got '{}'", kMostPrefetch, text);
  const auto values = listed_numbers(text, expected);
  check_usage(std::ranges::max(values) <= kMostPrefetch, expected);
  check_usage(values.size() <= kMostPrefetch, fmt::format("--prefetch: expected at most {} values", kMostPrefetch));
  return values;
}

void check_options(const PipelineOptions& options) {
  check_ranges(options);
  check_gpu_options(options);
  check_ladder(options);
  parse_prefetches(options.prefetch);
  const Preset* preset = options.preset ? &find_preset(*options.preset) : nullptr;
  check_usage(preset == nullptr || preset->jpeg,
              fmt::format("--preset: samples of '{}' are not images, which this pipeline decodes; `iobench model "
                          "--list-presets` lists the JPEG presets",
                          options.preset.value_or("")));
  check_usage(options.step == StepKind::emulated || (options.step_time ? *options.step_time > 0 : preset != nullptr),
              "--step spin needs --step-time or --preset");
}

PipelineSetup set_up(const PipelineOptions& options) {
  check_options(options);
  PipelineSetup setup;
  setup.prefetches = parse_prefetches(options.prefetch);
  setup.advised = options.advised;
  LoaderSettings& loader = setup.loader;
  loader.gpus = options.gpus.value_or(std::max<std::size_t>(listed_devices(options).size(), 1));
  loader.batch = options.batch.value_or(loader.batch);
  setup.step.step_seconds = options.step_time.value_or(0);
  if (options.preset) {
    const Preset& preset = find_preset(*options.preset);
    loader.batch = options.batch.value_or(preset.batch);
    setup.step.step_seconds = options.step_time.value_or(preset.step_seconds);
  }
  setup.step.kind = options.step;
  loader.workers = static_cast<unsigned>(options.workers.value_or(system::usable_threads()));
  loader.decode = options.backend;
  loader.crop = static_cast<std::uint32_t>(options.crop);
  loader.type = options.dtype;
  if (options.normalize_on_gpu) loader.form = SampleForm::crop;
  if (options.backend == DecodeKind::nvjpeg) loader.form = SampleForm::encoded;
  loader.pinned = options.pinned;
  loader.flow.samples = options.samples;
  return setup;
}

void check_batch_memory(const PipelineSetup& setup, double mean_sample_bytes) {
  LoaderSettings largest = setup.loader;
  largest.prefetch = *std::ranges::max_element(setup.prefetches);
  const auto batches = static_cast<double>(batches_in_memory(largest));
  const double compressed = largest.form == SampleForm::encoded ? mean_sample_bytes : 0;
  const double sample = static_cast<double>(sample_bytes(largest)) + compressed;
  const double bytes = batches * static_cast<double>(largest.batch) * sample;
  const std::uint64_t memory = system::usable_memory() / 2;
  if (bytes <= static_cast<double>(memory)) return;
  throw Error(ErrorCode::no_space,
              fmt::format("{} batches of {} need {}, but {} of memory is available; use {}", batches,
                          format_count(largest.batch, "sample"), format_rounded_size(bytes), format_size(memory),
                          setup.advised == AdvisedVerb::run ? "--dtype u8 or a smaller --crop, or allow more memory"
                                                            : "a smaller --batch, --prefetch, --gpus or --dtype"));
}

std::uint64_t queue_bytes(const LoaderSettings& settings, double mean_sample_bytes) {
  constexpr double kLeast = 1U << 20U;
  constexpr double kMost = 256U << 20U;
  const double samples = static_cast<double>(batches_in_memory(settings) * settings.batch);
  const double most = std::min(kMost, static_cast<double>(system::usable_memory()) / 8);
  return static_cast<std::uint64_t>(std::clamp(samples * mean_sample_bytes, kLeast, std::max(most, kLeast)));
}

PipelineRun run_pipeline(const PipelineInput& work, LoaderSettings settings, const StepSettings& step, TraceLog* trace,
                         Context& context) {
  if (!work.files.empty()) prepare_cache(work.files, work.cache, std::nullopt, context);
  settings.flow.queue_bytes = queue_bytes(settings, work.mean_sample_bytes);
  StepLoop loop(step, work.sink, trace);
  Loader loader(settings, work.source, work.sink, trace, context);
  std::optional<std::chrono::steady_clock::time_point> deadline;
  if (work.budget) deadline = moment_in(*work.budget);  // of the measurement: memory for batches is ready now
  if (deadline) {
    loader.end_reading_at(*deadline);
    loop.count_until(*deadline);
  }
  if (work.budget) context.progress().start_for(work.phase, *work.budget, "images");
  const auto out_of_time = [&] { return deadline && std::chrono::steady_clock::now() >= *deadline; };
  const CopyTally copies = work.sink.copies();
  NeighborWatch watch(storage_of(work.files));
  PipelineRun run{settings, {}, StepLog(step.step_seconds), {}, {}, {}, {}};
  for (std::uint64_t epoch = 0; epoch < work.epochs; ++epoch) {
    if (epoch > 0 && (out_of_time() || context.stop_token().stop_requested())) break;
    run.residency.push_back(residency(work.files, asking_seconds(work.budget, kShareForAsking)));
    if (!work.budget) {
      context.progress().start(work.phase, settings.flow.samples.value_or(0), 0, "images");
    }
    const double cpu_before = process_cpu_seconds();
    loop.run_epoch(loader, epoch);
    run.process_cpu_seconds += process_cpu_seconds() - cpu_before;
    if (loop.log().steps() == 0) context.throw_if_stopped();
    if (loop.log().steps() == 0) break;  // nothing was read: the next epoch has nothing either
  }
  run.out_of_time = out_of_time();
  run.neighbors = watch.so_far();
  if (!context.stop_token().stop_requested())
    run.residency_after = residency(work.files, asking_seconds(work.budget, kShareForAsking));
  run.tally = loader.tally();
  run.log = loop.log();
  run.epochs = loop.epochs();
  run.step_times = loop.times();
  run.copies = work.sink.copies().since(copies);
  return run;
}

std::optional<std::string_view> option_for_gpu(const PipelineOptions& options) {
  if (options.ladder) return "--ladder";
  if (!options.device.empty() && options.device != kNoDevice) return "--device";
  if (options.backend == DecodeKind::nvjpeg) return "--backend nvjpeg";
  if (options.step == StepKind::spin) return "--step spin";
  return std::nullopt;
}

std::vector<gpu::Device*> choose_gpus(const PipelineOptions& options, const PipelineSetup& setup,
                                      const GpuMachine& machine, Context& context) {
  if (options.device == kNoDevice) return {};
  if (machine.devices.empty()) {
    if (const auto option = option_for_gpu(options)) {
      throw Error(ErrorCode::unsupported, fmt::format("{}: no GPU is available", *option));
    }
    return {};
  }
  std::vector<gpu::Device*> gpus;
  for (const std::uint64_t number : listed_devices(options)) {
    gpus.push_back(&gpu::numbered_device(machine.devices, number));
  }
  if (gpus.empty()) gpus = machine.devices;
  if (gpus.size() > setup.loader.gpus) gpus.resize(setup.loader.gpus);
  if (gpus.size() < setup.loader.gpus) warn_of_sharing(setup.loader.gpus, gpus.size(), context);
  return gpus;
}

std::vector<std::unique_ptr<gpu::DeviceJpegDecoder>> open_decoders(const PipelineSetup& setup,
                                                                   const std::vector<gpu::Device*>& gpus,
                                                                   const GpuMachine& machine, Context& context) {
  std::vector<std::unique_ptr<gpu::DeviceJpegDecoder>> decoders;
  if (setup.loader.decode != DecodeKind::nvjpeg) return decoders;
  for (const gpu::Device* gpu : gpus) {
    if (gpu->facts().name != gpus.front()->facts().name) {
      throw Error(
          ErrorCode::unsupported,
          fmt::format("--backend nvjpeg: all GPUs must be of one model, but GPU {} is '{}' and GPU {} is '{}'",
                      gpus.front()->facts().index, gpus.front()->facts().name, gpu->facts().index, gpu->facts().name));
    }
    decoders.push_back(machine.open_jpegs(*gpu, setup.loader.workers));
  }
  warn_of_lost_hardware(decoders.front()->facts(), context);
  return decoders;
}

}  // namespace shardkit::bench
