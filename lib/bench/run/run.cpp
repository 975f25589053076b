#include "bench/run/run.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/model/job_requirement.hpp"
#include "core/error.hpp"
#include "stats/rank_test.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

constexpr double kShareForCaches = 0.15;
constexpr double kShareForReading = 0.5;
constexpr double kShareForDecoding = 0.25;
constexpr double kLongestDecode = 10;
constexpr std::uint64_t kImages = 1000;
/// A loader on storage with latency keeps more reads in flight than it has cores.
constexpr std::uint64_t kLeastReaders = 8;

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

/// Reads from one state of the cache, as much as the budget allows.
ReadResult read_from(CacheRequest cache, const RunOptions& options, const InputSet& input, std::uint64_t cores,
                     Context& context) {
  ReadOptions read_options;
  read_options.threads = std::max(options.threads.value_or(cores), kLeastReaders);
  read_options.cache = cache;
  read_options.budget = options.budget * kShareForReading;
  read_options.prepare_seconds = options.budget * kShareForCaches;
  return read(read_options, input, context);
}

/// With --cache auto: cold, else warm where the data is small enough for that, else with what the cache holds.
ReadResult read_from_best(const RunOptions& options, const InputSet& input, std::uint64_t cores, Context& context) {
  std::vector<CacheRequest> wanted{CacheRequest::cold};
  if (input.bytes < usable_memory() / 2) wanted.push_back(CacheRequest::warm);
  for (const CacheRequest cache : wanted) {
    try {
      return read_from(cache, options, input, cores, context);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      const bool cold = cache == CacheRequest::cold;
      context.warn(cold ? "not_cold" : "not_warm",
                   fmt::format("not read {}: {}", cold ? "cold" : "warm", error.what()));
    }
  }
  return read_from(CacheRequest::any, options, input, cores, context);
}

ReadResult measure_read(const RunOptions& options, const InputSet& input, std::uint64_t cores, Context& context) {
  switch (options.cache) {
    case RunCache::cold:
      return read_from(CacheRequest::cold, options, input, cores, context);
    case RunCache::warm:
      return read_from(CacheRequest::warm, options, input, cores, context);
    case RunCache::any:
      return read_from(CacheRequest::any, options, input, cores, context);
    case RunCache::automatic:
      break;
  }
  return read_from_best(options, input, cores, context);
}

/// Empty when there is nothing to decode.
std::optional<DecodeResult> measure_decode(const RunOptions& options, const InputSet& input, std::uint64_t cores,
                                           Context& context) {
  DecodeBenchOptions decode_options;
  decode_options.threads = options.threads.value_or(cores);
  decode_options.samples = kImages;
  if (options.crop > 0) decode_options.crop = options.crop;
  decode_options.min_seconds = std::min(options.budget * kShareForDecoding, kLongestDecode);
  decode_options.most_seconds = decode_options.min_seconds;
  try {
    return decode(decode_options, input, context);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found && error.code() != ErrorCode::corrupt) throw;
    context.warn("nothing_to_decode", error.what());
    return std::nullopt;
  }
}

MeasuredNode measured_node(const RunResult& result, std::uint64_t cores) {
  const ReadResult& read = result.read;
  MeasuredNode node;
  node.cores = cores;
  node.read_bytes_per_second = read.bytes_per_second;
  node.cache_state = read.cache.state;
  node.dev_shm = result.environment.dev_shm;
  node.sample_bytes = read.mean_sample.value_or(0);
  node.read_cpu_seconds = read.cpu_seconds / static_cast<double>(read.bytes) * node.sample_bytes;
  if (result.decode && result.decode->samples_per_second_per_core > 0) {
    node.decode_samples_per_second = result.decode->samples_per_second;
    node.decode_cpu_seconds = 1 / result.decode->samples_per_second_per_core;
  }
  return node;
}

std::optional<JobRequirement> requirement_of(const RunOptions& options) {
  // Samples weigh what those at hand weigh; only a preset that is about something else than images brings its own.
  const auto sample_bytes = options.preset ? std::nullopt : std::optional(1.0);
  return job_requirement(
      {options.preset, options.gpus, options.batch, options.step_time, sample_bytes, options.min_au});
}

/// The stages once, into `result`.
void measure_turn(const RunOptions& options, const InputSet& input, std::uint64_t cores, Context& context,
                  RunResult& result) {
  result.read = measure_read(options, input, cores, context);
  if (result.read.samples.value_or(0) == 0) {
    throw Error(ErrorCode::not_found,
                fmt::format("no whole sample was read from '{}' within {}; is it the right folder?",
                            options.paths.front(), format_duration(result.read.read_seconds)),
                options.paths.front());
  }
  result.decode = measure_decode(options, input, cores, context);
}

RunCache cache_of(CacheRequest request) {
  if (request == CacheRequest::any) return RunCache::any;
  return request == CacheRequest::cold ? RunCache::cold : RunCache::warm;
}

double predicted_samples(const RunResult& turn, const RunOptions& options, std::uint64_t cores) {
  return conclude(measured_node(turn, cores), requirement_of(options), {}).predicted.samples_per_second;
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
}

/// All turns. From the second on they start from the state of the cache that the first one came to.
void measure(RunOptions options, const InputSet& input, std::uint64_t cores, Context& context, RunResult& result) {
  if (options.repeat == 1) return measure_turn(options, input, cores, context, result);
  std::vector<RunResult> turns(options.repeat);
  for (RunResult& turn : turns) {
    context.throw_if_stopped();
    measure_turn(options, input, cores, context, turn);
    result.repetitions.push_back(run_turn(turn.read, turn.decode, predicted_samples(turn, options, cores)));
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

TransferStage transfer_stage(const Environment& environment) {
  if (environment.gpus == 0) return {false, "no GPU here"};
  return {false,
          fmt::format("{} NVIDIA devices are here, but this version does not measure transfer", environment.gpus)};
}

}  // namespace

RunResult run(const RunOptions& options, Context& context) {
  check_options(options);
  const auto requirement = requirement_of(options);
  RunResult result;
  const InputSet input = spread(find_input(options.paths, context));
  result.environment = look_at_environment(input.files.front().path, std::nullopt);
  warn_of_environment(result.environment, context);
  const std::uint64_t cores = options.threads.value_or(result.environment.usable_threads);
  measure(options, input, cores, context, result);
  result.transfer = transfer_stage(result.environment);
  const std::uint64_t side = options.crop > 0 ? options.crop : 224;
  result.conclusion =
      conclude(measured_node(result, cores), requirement,
               {options.workers, options.prefetch, tensor_bytes(side, value_bytes(options.dtype)), 256});
  warn_of_loader(options, result, cores, context);
  return result;
}

}  // namespace shardkit
