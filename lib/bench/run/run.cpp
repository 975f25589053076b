#include "bench/run/run.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "bench/model/job_requirement.hpp"
#include "bench/run/run_node.hpp"
#include "bench/run/run_stages.hpp"
#include "bench/run/run_warnings.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "gpu/devices.hpp"
#include "stats/rank_test.hpp"
#include "system/limits.hpp"

namespace shardkit {
namespace {

constexpr double kLongestBudget = 24 * 3600;

void check_options(const RunOptions& options) {
  const auto check = [](bool fine, const std::string& text) {
    if (!fine) throw Error(ErrorCode::usage, text);
  };
  check(options.budget > 0 && options.budget <= kLongestBudget,
        "--budget: expected more than 0 seconds and up to a day");
  check(options.prefetch > 0, "--prefetch: expected at least 1 batch");
  check(options.workers.value_or(1) > 0, "--workers: expected at least 1");
  check(options.threads.value_or(1) > 0, "--threads: expected at least 1");
  check(options.repeat > 0 && options.repeat <= kMostRankedValues,
        fmt::format("--repeat: expected 1 to {} turns", kMostRankedValues));
  check(options.crop <= kMostCrop, fmt::format("--crop: expected 0 to {} pixels", kMostCrop));
}

JobOptions job_of(const RunOptions& options) {
  // Samples weigh what those at hand weigh; only a preset that is about something else than images brings its own.
  const auto sample_bytes = options.preset ? std::nullopt : std::optional(1.0);
  return {options.preset, options.gpus, options.batch, options.step_time, sample_bytes, options.min_au};
}

std::optional<JobRequirement> requirement_of(const RunOptions& options) { return job_requirement(job_of(options)); }

/// The state that reading came to, by which further turns go.
RunCache cache_of(const ReadResult& read) {
  if (read.direct) return RunCache::direct;
  if (read.cache.requested == CacheRequest::any) return RunCache::any;
  return read.cache.requested == CacheRequest::cold ? RunCache::cold : RunCache::warm;
}

LoaderOptions loader_of(const RunOptions& options) {
  const std::uint64_t side = std::max<std::uint64_t>(options.crop, 1);  // of whole images, a pixel
  LoaderOptions loader;
  loader.workers = options.workers;
  loader.prefetch = options.prefetch;
  loader.tensor_bytes = tensor_bytes(side, value_bytes(options.dtype));
  return loader;
}

double predicted_samples(const MeasuredNode& node, const RunOptions& options) {
  return conclude(node, requirement_of(options), loader_of(options)).predicted.samples_per_second;
}

/// Once the stages of the host are measured, which tell what a sample weighs.
TransferStage transfer_batches(const RunResult& turn, const RunOptions& options, const RunGpus& gpus,
                               Context& context) {
  constexpr double kShareForTransfer = 0.05;
  const auto requirement = requirement_of(options);
  const LoaderOptions loader = loader_of(options);
  BatchCopies wanted;
  wanted.gpus = requirement ? requirement->job.gpus : gpus.machine.devices.size();
  wanted.batch = requirement ? requirement->job.batch : loader.batch;
  wanted.sample_bytes = decoded_bytes(measured_node(turn, options), requirement, loader.tensor_bytes);
  wanted.seconds = options.budget * kShareForTransfer;
  return measure_transfer(gpus, wanted, context);
}

/// Of each stage the turn with the median rate, so that the figures of a stage belong to each other.
void show_median_turns(std::vector<RunResult>& turns, RunResult& result) {
  const auto median = [&](auto&& rate_of) {
    std::vector<double> rates;
    for (const RunResult& turn : turns) rates.push_back(rate_of(turn));
    return median_turn(rates);
  };
  const auto rate_of = [](const auto& stage) { return stage ? stage->samples_per_second : 0; };
  const std::size_t read = median([](const RunResult& turn) { return turn.read.bytes_per_second; });
  const std::size_t decode = median([&](const RunResult& turn) { return rate_of(turn.decode); });
  const std::size_t pipeline = median([&](const RunResult& turn) { return rate_of(turn.pipeline); });
  const std::size_t transfer = median([](const RunResult& turn) { return turn.transfer.pinned_h2d.value_or(0); });
  result.read = turns[read].read;
  result.decode = turns[decode].decode;
  result.pipeline = turns[pipeline].pipeline;
  result.transfer = turns[transfer].transfer;
  result.file_costs = std::move(turns.front().file_costs);
  result.shown_turns = ShownTurns{read + 1, {}, {}, {}};
  if (result.decode) result.shown_turns->decode = decode + 1;
  if (result.pipeline) result.shown_turns->pipeline = pipeline + 1;
  if (result.transfer.measured) result.shown_turns->transfer = transfer + 1;
}

/// All turns, and what they say of the node. From the second on they start from the state of the cache that the first
/// one came to.
MeasuredNode measure(RunOptions options, const InputSet& input, std::uint64_t cores, const RunGpus& gpus,
                     Context& context, RunResult& result) {
  const auto measure_turn = [&](RunResult& turn) {
    measure_stages(options, input, cores, context, turn);
    turn.transfer = transfer_batches(turn, options, gpus, context);
  };
  if (options.repeat == 1) {
    measure_turn(result);
    warn_of_steps(std::span(&result, 1), context);
    return measured_node(result, options);
  }
  std::vector<RunResult> turns(options.repeat);
  std::vector<MeasuredNode> nodes;
  for (RunResult& turn : turns) {
    context.throw_if_stopped();
    turn.environment = result.environment;
    measure_turn(turn);
    nodes.push_back(measured_node(turn, options));
    result.repetitions.push_back(
        run_turn(turn.read, turn.decode, turn.pipeline, turn.transfer, predicted_samples(nodes.back(), options)));
    options.cache = cache_of(turn.read);
  }
  const auto same_state = [&](const RunTurn& turn) {
    return turn.read.cache_state == result.repetitions.front().read.cache_state;
  };
  if (!std::ranges::all_of(result.repetitions, same_state)) {
    context.warn("cache_state_changed", "the turns did not all start from the same state of the page cache");
  }
  warn_of_steps(turns, context);
  show_median_turns(turns, result);
  result.repeated = repeated_metrics(result.repetitions);
  return median_node(nodes);
}

/// Why CUDA has no GPUs; said in full only where some seem to be.
std::string why_no_gpus(const Error& error) { return find_gpus().devices == 0 ? "no GPU here" : error.what(); }

}  // namespace

RunResult run(const RunOptions& options, Context& context) {
  check_options(options);
  requirement_of(options);  // slips in the options come before the machine
  std::vector<std::unique_ptr<Device>> devices;
  const auto monitor = find_gpu_monitor();
  RunGpus gpus{{{}, {}, live_probe(), monitor.get()}, {}};
  try {
    devices = open_devices();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    gpus.missing = why_no_gpus(error);
  }
  gpus.machine.devices = lent(devices);
  return run(options, gpus, context);
}

RunResult run(const RunOptions& options, const RunGpus& gpus, Context& context) {
  check_options(options);
  const auto requirement = requirement_of(options);
  warn_of_step_time(job_of(options), context);
  RunResult result;
  const InputSet input = spread(find_input(options.paths, context));
  result.environment = look_at_environment(input.files.front().path, std::nullopt);
  warn_of_environment(result.environment, context);
  const std::uint64_t cores = result.environment.usable_threads;
  const MeasuredNode node = measure(options, input, cores, gpus, context, result);
  result.conclusion = conclude(node, requirement, loader_of(options));
  warn_of_failures(result, context);
  warn_of_loader(options, result, context);
  warn_of_pipeline(result, context);
  result.command = command_text("iobench run", options);
  return result;
}

}  // namespace shardkit
