#include "bench/pipeline/pipeline_report.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "bench/requirement/requirement.hpp"

namespace shardkit::bench {
namespace {

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// Splits the time of a stage's threads into three parts; the remainder counts as starved, so that the sum is 1.
StageRow row(std::string_view name, std::uint64_t threads, const ActivityTimes& times, double busy, double blocked) {
  const double total = times.total_wall();
  StageRow stage{std::string(name), threads};
  stage.busy_ratio = share(busy, total);
  stage.blocked_ratio = share(blocked, total);
  stage.starved_ratio = std::max(0.0, 1 - stage.busy_ratio - stage.blocked_ratio);
  return stage;
}

/// Long enough for tens of thousands of samples of nothing.
constexpr double kCalibrationSeconds = 0.15;

constexpr double kNoticeable = 0.05;
constexpr double kMostOfACore = 0.8;
constexpr double kHalfACore = 0.5;
constexpr double kMostlyBusy = 0.5;

struct Candidate {
  double busy = 0;
  std::string_view stage;
  std::string reason;
  bool on_gpu = false;
};

/// If workers queue for cores, readers do too: their time does not show slow storage.
Candidate readers(const PipelineShares& shares) {
  const bool workers_work = shares.decode + shares.augment >= kMostlyBusy;  // workers that idle wait for no cores
  const bool cores_are_short = workers_work && shares.worker_core < kHalfACore;
  const double busy = shares.read + shares.unpack;
  return {cores_are_short ? 0 : busy, shares.unpack > shares.read ? stage::kUnpack : stage::kRead,
          fmt::format("readers are busy {:.0f} % of their time{}", busy * 100,
                      shares.unpack > 0
                          ? fmt::format(": read {:.0f} %, unpack {:.0f} %", shares.read * 100, shares.unpack * 100)
                          : "")};
}

Candidate workers(const PipelineShares& shares) {
  const double busy = shares.decode + shares.augment;
  return {busy, shares.decode >= shares.augment ? stage::kDecode : stage::kAugment,
          fmt::format("workers are busy {:.0f} % of their time: decode {:.0f} %, augment {:.0f} %", busy * 100,
                      shares.decode * 100, shares.augment * 100)};
}

Candidate hand_over(const PipelineShares& shares) {
  const double busy = shares.transfer + shares.device_decode;
  if (shares.device_decode > shares.transfer) {
    return {busy, stage::kDecode,
            fmt::format("the GPU decodes {:.0f} % of the time, and copies take {:.0f} %", shares.device_decode * 100,
                        shares.transfer * 100),
            true};
  }
  return {busy, stage::kTransfer,
          fmt::format("copying to the GPU takes {:.0f} % of the time of its threads", busy * 100)};
}

Candidate steps(const PipelineShares& shares) {
  const bool at_starts = shares.step_waits - shares.step_starved > kNoticeable;
  return {shares.compute, stage::kCompute,
          fmt::format("steps compute {:.0f} % of the time and wait {:.0f} %{}", shares.compute * 100,
                      shares.step_waits * 100, at_starts ? ", mostly for the first batch of an epoch" : "")};
}

/// What would help.
enum class Advice {
  images_for_gpu,
  storage,
  plain_shards,
  decoding,
  augmenting,
  copies,
  prefetch,  ///< more batches
  cores,     ///< that others use
};

/// The remedy for the bottleneck; empty if the steps are fed.
std::optional<Advice> stage_advice(const Candidate& bottleneck) {
  if (bottleneck.on_gpu) return Advice::images_for_gpu;
  if (bottleneck.stage == stage::kRead) return Advice::storage;
  if (bottleneck.stage == stage::kUnpack) return Advice::plain_shards;
  if (bottleneck.stage == stage::kDecode) return Advice::decoding;
  if (bottleneck.stage == stage::kAugment) return Advice::augmenting;
  if (bottleneck.stage == stage::kTransfer) return Advice::copies;
  return std::nullopt;
}

std::vector<Advice> advice_for(const Candidate& bottleneck, const PipelineShares& shares) {
  std::vector<Advice> advice;
  if (const auto remedy = stage_advice(bottleneck)) advice.push_back(*remedy);
  const bool steps_take_time = shares.compute > kNoticeable;  // else nothing can overlap
  if (steps_take_time && shares.workers_blocked > kNoticeable && shares.step_starved > kNoticeable)
    advice.push_back(Advice::prefetch);
  const bool workers_win = bottleneck.stage == stage::kDecode || bottleneck.stage == stage::kAugment;
  if (workers_win && !bottleneck.on_gpu && shares.worker_core < kMostOfACore) advice.push_back(Advice::cores);
  return advice;
}

/// The advice with the options of the verb; empty if it has none for it.
std::string advice_text(Advice advice, const PipelineShares& shares, std::uint64_t prefetch, AdvisedVerb verb) {
  const bool is_run = verb == AdvisedVerb::run;
  switch (advice) {
    case Advice::images_for_gpu:
      return is_run ? "" : "use smaller images (shardctl convert --resize), or --backend cpu with more cores";
    case Advice::storage:
      return "use faster storage, or stage the data to a local disk (shardctl stage)";
    case Advice::plain_shards:
      return is_run ? "" : "write plain shards (shardctl reshard), or use more cores";
    case Advice::decoding:
      return "use more cores, smaller images (shardctl convert --resize) or decoding on the GPU";
    case Advice::augmenting:
      return "use more cores, --dtype u8 or normalizing on the GPU";
    case Advice::copies:
      return "use a smaller --dtype";
    case Advice::prefetch:
      if (is_run) return "";
      return fmt::format(
          "raise --prefetch above {}: steps wait {:.0f} % of the time for batches, and workers wait {:.0f} % of theirs "
          "because the prefetch limit is reached",
          prefetch, shares.step_starved * 100, shares.workers_blocked * 100);
    case Advice::cores:
      break;
  }
  return fmt::format(
      "workers get only {:.0f} % of a core each while they decode; other processes, a CPU limit or more {} than cores "
      "use the rest",
      shares.worker_core * 100, is_run ? "--threads" : "--workers");
}

}  // namespace

std::vector<StageRow> stage_rows(const PipelineRun& run) {
  const ActivityTimes& read = run.tally.readers;
  const ActivityTimes& work = run.tally.workers;
  const ActivityTimes& transfer = run.tally.transfer;
  const ActivityTimes& step = run.step_times;
  const double decode = work.wall_of(Activity::decode);
  const double augment = work.wall_of(Activity::augment);
  const double compute = step.wall_of(Activity::compute);
  const double blocked = work.wall_of(Activity::blocked);
  std::vector<StageRow> rows;
  const double unpack = read.wall_of(Activity::unpack);
  const double read_blocked = read.wall_of(Activity::blocked);
  rows.push_back(row("read", run.loader.readers, read, read.wall_of(Activity::read), read_blocked + unpack));
  rows.push_back(row("decode", run.loader.workers, work, decode, blocked + augment));
  rows.push_back(row("augment", run.loader.workers, work, augment, blocked));
  rows.push_back(row("transfer", run.tally.transfer_threads, transfer, transfer.wall_of(Activity::transfer),
                     transfer.wall_of(Activity::blocked)));
  rows.push_back(row("compute", 1, step, compute, 0));
  const auto samples = static_cast<double>(run.tally.decoded);
  const double waits = work.cpu_of(Activity::starved) + work.cpu_of(Activity::blocked);
  const std::array cpu{read.total_cpu() - read.cpu_of(Activity::unpack),
                       work.cpu_of(Activity::decode) + waits + transfer.cpu_of(Activity::decode),
                       work.cpu_of(Activity::augment), transfer.total_cpu() - transfer.cpu_of(Activity::decode),
                       step.cpu_of(Activity::compute) + step.cpu_of(Activity::starved)};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].cpu_seconds_per_sample = share(cpu[i], samples);
  if (unpack <= 0) return rows;
  StageRow unpacking = row("unpack", run.loader.readers, read, unpack, read_blocked);
  unpacking.cpu_seconds_per_sample = share(read.cpu_of(Activity::unpack), samples);
  rows.insert(rows.begin() + 1, unpacking);
  return rows;
}

double cpu_seconds_per_sample(const PipelineRun& run) {
  const double all = run.tally.readers.total_cpu() + run.tally.workers.total_cpu() + run.tally.transfer.total_cpu() +
                     run.step_times.total_cpu();
  return share(all, static_cast<double>(run.tally.decoded));
}

PipelineShares pipeline_shares(const PipelineRun& run) {
  const auto of = [](const ActivityTimes& times, Activity activity) {
    return share(times.wall_of(activity), times.total_wall());
  };
  PipelineShares shares;
  shares.read = of(run.tally.readers, Activity::read);
  shares.unpack = of(run.tally.readers, Activity::unpack);
  shares.decode = of(run.tally.workers, Activity::decode);
  shares.augment = of(run.tally.workers, Activity::augment);
  const ActivityTimes& workers = run.tally.workers;
  const double decoding = workers.wall_of(Activity::decode);
  shares.worker_core = decoding > 0 ? workers.cpu_of(Activity::decode) / decoding : 1;
  shares.workers_blocked = of(run.tally.workers, Activity::blocked);
  shares.transfer = of(run.tally.transfer, Activity::transfer);
  shares.device_decode = of(run.tally.transfer, Activity::decode);
  shares.compute = of(run.step_times, Activity::compute);
  shares.step_starved = run.log.stall_within_epochs();
  shares.step_waits = of(run.step_times, Activity::starved);
  return shares;
}

std::vector<EpochRow> epoch_rows(const PipelineRun& run) {
  std::vector<EpochRow> rows;
  for (std::size_t i = 0; i < run.epochs.size(); ++i) {
    const StepLog& log = run.epochs[i];
    EpochRow row;
    row.epoch = i + 1;
    row.residency_before_ratio = run.residency[i];
    row.steps = log.steps();
    row.samples = log.samples();
    row.samples_per_second = log.samples_per_second();
    row.first_batch_seconds = log.first_batch();
    row.stall_ratio = log.stall();
    if (i > 0 && i <= run.log.boundaries().size()) row.boundary_stall_seconds = run.log.boundaries()[i - 1];
    rows.push_back(row);
  }
  return rows;
}

PrefetchRow prefetch_row(const PipelineRun& run) {
  return {run.loader.prefetch,
          run.log.samples_per_second(),
          run.log.batch_latency(),
          run.log.stall(),
          run.log.au(),
          judge_pipeline(pipeline_shares(run), run.loader.prefetch).limiting_stage};
}

PipelineRun calibrate(const PipelineSetup& setup, Context& context) {
  const auto source = null_source();
  const auto sink = host_sink();
  LoaderSettings loader = setup.loader;
  loader.prefetch = std::max<std::uint64_t>(setup.prefetches.back(), 1);
  loader.readers = 1;
  loader.decode = DecodeKind::null;
  loader.crop = 1;
  loader.form = SampleForm::tensor;
  loader.flow.samples.reset();
  return run_pipeline(
      {*source, *sink, {}, CacheRequest::any, 1, kCalibrationSeconds, kGuessedSampleBytes, "measuring the overhead"},
      loader, {}, nullptr, context);
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

void describe_setup(const PipelineOptions& options, const PipelineRun& run, const PipelineSetup& setup,
                    PipelineResult& result) {
  const LoaderSettings& loader = run.loader;
  result.decode = loader.decode;
  result.normalize = loader.form == SampleForm::tensor ? NormalizeKind::cpu : NormalizeKind::gpu;
  result.step = setup.step.kind;
  result.gpus = loader.gpus;
  result.batch = loader.batch;
  result.step_seconds = setup.step.step_seconds;
  result.prefetch = loader.prefetch;
  result.readers = loader.readers;
  result.workers = loader.workers;
  result.crop = loader.crop;
  result.dtype = loader.type;
  result.batch_memory = static_cast<double>(batches_in_memory(loader)) * static_cast<double>(loader.batch) *
                        static_cast<double>(sample_bytes(loader));
  result.cache.requested = options.cache;
  if (setup.step.step_seconds > 0) {
    result.required_samples_per_second = static_cast<double>(loader.gpus * loader.batch) / setup.step.step_seconds;
  }
}

CopyReport copy_report(const PipelineRun& run, const std::vector<gpu::Device*>& gpus) {
  CopyReport report;
  for (const gpu::Device* gpu : gpus)
    report.devices.push_back(fmt::format("{}: {}", gpu->facts().index, gpu->facts().name));
  const CopyTally& copies = run.copies;
  report.pinned = run.loader.pinned;
  report.copies = copies.copies;
  report.bytes = copies.bytes;
  if (copies.seconds > 0) report.bytes_per_second = static_cast<double>(copies.bytes) / copies.seconds;
  return report;
}

JpegReport jpeg_report(const gpu::JpegDecoderFacts& decoder, const LoaderTally& tally) {
  JpegReport report{tally.paths, decoder.library};
  if (report.on_gpu() > 0) {
    report.gpu_ratio = static_cast<double>(report.on_gpu()) / static_cast<double>(report.total());
  }
  const double all = tally.transfer.total_wall();
  if (all > 0) report.busy_ratio = tally.transfer.wall_of(Activity::decode) / all;
  return report;
}

void CopyReport::describe(FieldList& v) {
  v.field({"devices", "GPUs that batches were copied to", kCondition}, devices);
  v.field({"pinned", "from pinned memory"}, pinned);
  v.field({"copies", Unit::count, "number of copies, one per batch"}, copies);
  v.field({"bytes", Unit::bytes, "bytes of all copies"}, bytes);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes divided by the time of the copies"}, bytes_per_second);
}

void JpegReport::describe(FieldList& v) {
  v.field({"decoder", "library"}, decoder);
  v.field({"hardware", Unit::count, "samples decoded by the GPU's hardware decoders"}, engines[0]);
  v.field({"hybrid", Unit::count, "samples decoded by CPU and GPU together"}, engines[1]);
  v.field({"gpu_hybrid", Unit::count, "samples decoded by the GPU's multiprocessors"}, engines[2]);
  v.field({"cpu", Unit::count, "samples that no engine supports, decoded by workers"}, cpu);
  v.field({"returned", Unit::count, "samples that an engine accepted but could not decode, then decoded on the CPU"},
          returned);
  v.field({"gpu_ratio", Unit::ratio, "share of the samples that a GPU decoded"}, gpu_ratio);
  v.field({"busy", Unit::ratio, "share of its time that the hand-over thread spent decoding"}, busy_ratio);
}

void add_measurement(const PipelineRun& run, AdvisedVerb advised, PipelineResult& result) {
  static_cast<PipelineVerdict&>(result) = judge_pipeline(pipeline_shares(run), run.loader.prefetch, advised);
  result.steps = run.log.steps();
  result.samples = run.log.samples();
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
  if (run.tally.decoded > 0) {
    result.process_cpu_seconds_per_sample = run.process_cpu_seconds / static_cast<double>(run.tally.decoded);
  }
  result.epochs = epoch_rows(run);
  result.failures = run.tally.failures;
  result.images_tried = run.tally.decoded + run.tally.failures.total;
  result.cache.residency_before_ratio = run.residency.front();
  result.cache.residency_after_ratio = run.residency_after;
}

PipelineVerdict judge_pipeline(const PipelineShares& shares, std::uint64_t prefetch, AdvisedVerb advised) {
  const std::array candidates{steps(shares), workers(shares), readers(shares), hand_over(shares)};
  const Candidate& busiest = *std::ranges::max_element(candidates, {}, &Candidate::busy);
  PipelineVerdict verdict{std::string(busiest.stage), busiest.reason, {}};
  for (const Advice advice : advice_for(busiest, shares)) {
    if (std::string text = advice_text(advice, shares, prefetch, advised); !text.empty())
      verdict.advice.push_back(std::move(text));
  }
  return verdict;
}

}  // namespace shardkit::bench
