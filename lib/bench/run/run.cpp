#include "bench/run/run.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/model/job_requirement.hpp"
#include "bench/run/run_stages.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "stats/rank_test.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

void check_options(const RunOptions& options) {
  const auto check = [](bool fine, const std::string& text) {
    if (!fine) throw Error(ErrorCode::usage, text);
  };
  check(options.budget > 0, "--budget: expected more than 0 seconds");
  check(options.prefetch > 0, "--prefetch: expected at least 1 batch");
  check(options.workers.value_or(1) > 0, "--workers: expected at least 1");
  check(options.threads.value_or(1) > 0, "--threads: expected at least 1");
  check(options.repeat > 0 && options.repeat <= kMostRankedValues,
        fmt::format("--repeat: expected 1 to {} turns", kMostRankedValues));
  check(options.crop <= kMostCrop, fmt::format("--crop: expected 0 to {} pixels", kMostCrop));
}

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
  if (decode.samples_per_second_per_core <= 0) return;
  node.decode_samples_per_second = decode.samples_per_second;
  node.decode_interval = decode.samples_per_second_interval;
  node.decode_cpu_seconds = 1 / decode.samples_per_second_per_core;
  node.threads = static_cast<double>(decode.threads);
  node.megapixels = decode.mix.mean_megapixels;
  if (!decode.augment || decode.augment->samples_per_second_per_core <= 0) return;
  node.augment_samples_per_second = decode.augment->samples_per_second;
  node.augment_cpu_seconds = 1 / decode.augment->samples_per_second_per_core;
}

/// Bytes a second that storage gives. When a cold read ends, the kernel has read ahead what nobody came to use; where
/// that is much, the disk's own counter is nearer to what longer reading gives.
double storage_rate(const ReadResult& read) {
  constexpr double kMuch = 1.1;
  const bool is_cold = read.cache.state == "cold" && read.device.has_value();
  if (!is_cold || read.device->read_bytes_per_second < kMuch * read.bytes_per_second) return read.bytes_per_second;
  return read.device->read_bytes_per_second;
}

MeasuredNode measured_node(const RunResult& result, const RunOptions& options) {
  const ReadResult& read = result.read;
  const Environment& machine = result.environment;
  MeasuredNode node;
  node.cores = static_cast<double>(machine.usable_threads);
  node.cpu_limit = machine.cpu_limit;
  if (machine.cpu_limit) node.cores = std::min(node.cores, *machine.cpu_limit);
  node.read_bytes_per_second = storage_rate(read);
  if (node.read_bytes_per_second == read.bytes_per_second) node.read_interval = read.bytes_per_second_interval;
  node.cache_state = read.cache.state;
  node.dev_shm = machine.dev_shm;
  node.sample_bytes = read.mean_sample.value_or(0);
  node.read_cpu_seconds = read.cpu_seconds / static_cast<double>(read.bytes) * node.sample_bytes;
  node.crop = options.crop;
  if (result.decode) add_decoding(*result.decode, node);
  constexpr std::uint64_t kLeastSteps = 5;  // the first of which only fills the pipeline
  if (result.pipeline && result.pipeline->steps >= kLeastSteps) {
    node.pipeline_samples_per_second = steady_rate(*result.pipeline);
  }
  if (result.file_costs) node.shards_gain_ratio = result.file_costs->shards_gain_ratio;
  return node;
}

std::optional<JobRequirement> requirement_of(const RunOptions& options) {
  // Samples weigh what those at hand weigh; only a preset that is about something else than images brings its own.
  const auto sample_bytes = options.preset ? std::nullopt : std::optional(1.0);
  return job_requirement(
      {options.preset, options.gpus, options.batch, options.step_time, sample_bytes, options.min_au});
}

RunCache cache_of(CacheRequest request) {
  if (request == CacheRequest::any) return RunCache::any;
  return request == CacheRequest::cold ? RunCache::cold : RunCache::warm;
}

double predicted_samples(const RunResult& turn, const RunOptions& options) {
  return conclude(measured_node(turn, options), requirement_of(options), {}).predicted.samples_per_second;
}

/// Of each stage the turn with the median rate, so that the figures of a stage belong to each other.
void take_medians(std::vector<RunResult>& turns, RunResult& result) {
  const auto median = [&](auto&& rate_of) {
    std::vector<double> rates;
    for (const RunResult& turn : turns) rates.push_back(rate_of(turn));
    return median_turn(rates);
  };
  result.read = turns[median([](const RunResult& turn) { return turn.read.bytes_per_second; })].read;
  result.decode =
      turns[median([](const RunResult& turn) { return turn.decode ? turn.decode->samples_per_second : 0; })].decode;
  result.pipeline =
      turns[median([](const RunResult& turn) { return turn.pipeline ? turn.pipeline->samples_per_second : 0; })]
          .pipeline;
  result.file_costs = std::move(turns.front().file_costs);
}

/// All turns. From the second on they start from the state of the cache that the first one came to.
void measure(RunOptions options, const InputSet& input, std::uint64_t cores, Context& context, RunResult& result) {
  if (options.repeat == 1) return measure_stages(options, input, cores, context, result);
  std::vector<RunResult> turns(options.repeat);
  for (RunResult& turn : turns) {
    context.throw_if_stopped();
    turn.environment = result.environment;
    measure_stages(options, input, cores, context, turn);
    result.repetitions.push_back(run_turn(turn.read, turn.decode, turn.pipeline, predicted_samples(turn, options)));
    options.cache = cache_of(turn.read.cache.requested);
  }
  const auto same_state = [&](const RunTurn& turn) {
    return turn.read.cache_state == result.repetitions.front().read.cache_state;
  };
  if (!std::ranges::all_of(result.repetitions, same_state)) {
    context.warn("cache_state_changed", "the turns did not all start from the same state of the page cache");
  }
  take_medians(turns, result);
  result.repeated = repeated_metrics(result.repetitions);
}

/// Hints stay in the result; the room in /dev/shm is judged later, against the loader that comes of it.
void warn_of_environment(const Environment& environment, Context& context) {
  for (const Finding& finding : environment.findings) {
    if (finding.severity == FindingSeverity::hint || finding.code == "dev_shm_small") continue;
    context.warn(finding.code, finding.text);
  }
}

void warn_of_loader(const RunOptions& options, const RunResult& result, std::uint64_t cores, Context& context) {
  const DataLoaderAdvice& loader = result.conclusion.loader;
  if (!loader.dev_shm_fits) {
    context.warn("dev_shm_too_small",
                 fmt::format("the DataLoader line needs {} in /dev/shm, which has {} left: mount it larger (Docker: "
                             "--shm-size, Kubernetes: an emptyDir of medium Memory) or lower prefetch_factor",
                             format_size(static_cast<std::uint64_t>(std::min(loader.dev_shm_needed, 1e18))),
                             format_size(result.environment.dev_shm.value_or(0))));
  }
  const std::uint64_t workers = loader.workers * options.gpus.value_or(1);
  if (options.workers && workers > cores) {
    context.warn("workers_above_cores",
                 fmt::format("{} loader processes share {} cores: more of them add memory, not speed", workers, cores));
  }
}

/// Stages that are slower together than each alone predicts, or faster, share something that the prediction does not
/// know, or one of them was not steady.
void warn_of_pipeline(const Conclusion& conclusion, Context& context) {
  constexpr double kMost = 1.1;
  const double ratio = conclusion.predicted.of_measured_ratio.value_or(1);
  if (ratio <= kMost && ratio >= 1 / kMost) return;
  context.warn("prediction_off",
               fmt::format("the stages alone predict {:.2f} times what they gave together: one of them was not steady, "
                           "others used the machine, or they share more than cores; a longer --budget tells",
                           ratio));
}

TransferStage transfer_stage(const Environment& environment) {
  if (environment.gpus == 0) return {false, "no GPU here"};
  return {false,
          fmt::format("not part of a run: `iobench transfer` measures the {} NVIDIA devices here", environment.gpus)};
}

}  // namespace

RunResult run(const RunOptions& options, Context& context) {
  check_options(options);
  const auto requirement = requirement_of(options);
  RunResult result;
  const InputSet input = spread(find_input(options.paths, context));
  result.environment = look_at_environment(input.files.front().path, std::nullopt);
  warn_of_environment(result.environment, context);
  const std::uint64_t cores = result.environment.usable_threads;
  measure(options, input, cores, context, result);
  result.transfer = transfer_stage(result.environment);
  const std::uint64_t side = options.crop > 0 ? options.crop : 224;
  result.conclusion =
      conclude(measured_node(result, options), requirement,
               {options.workers, options.prefetch, tensor_bytes(side, value_bytes(options.dtype)), 256});
  warn_of_loader(options, result, cores, context);
  warn_of_pipeline(result.conclusion, context);
  result.command = command_text("iobench run", options);
  return result;
}

}  // namespace shardkit
