#include "bench/run/run_warnings.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/run/run_node.hpp"
#include "core/units.hpp"

namespace shardkit {

void warn_of_environment(const Environment& environment, Context& context) {
  for (const Finding& finding : environment.findings) {
    if (finding.severity == FindingSeverity::hint || finding.code == "dev_shm_small") continue;
    context.warn(finding.code, finding.text);
  }
}

void warn_of_loader(const RunOptions& options, const RunResult& result, Context& context) {
  const std::uint64_t cores = result.environment.usable_threads;
  const DataLoaderAdvice& loader = result.conclusion.loader;
  if (!loader.dev_shm_fits) {
    context.warn(
        "dev_shm_too_small",
        fmt::format("the DataLoader line needs {} in /dev/shm, which has {} left: mount it larger (Docker: "
                    "--shm-size, Kubernetes: an emptyDir of medium Memory) or lower prefetch_factor",
                    format_rounded_size(loader.dev_shm_needed), format_size(result.environment.dev_shm.value_or(0))));
  }
  const std::uint64_t workers = loader.workers * options.gpus.value_or(1);
  if (options.workers && workers > cores) {
    context.warn("workers_above_cores", fmt::format("{} loader processes share {}: more of them add memory, not speed",
                                                    workers, format_count(cores, "core")));
  }
}

void warn_of_pipeline(const RunResult& result, Context& context) {
  constexpr double kMost = 1.1;
  if (result.pipeline && !reads_storage_too(result.read, *result.pipeline)) {
    context.warn(
        "pipeline_cached",
        fmt::format("reading went past the page cache (O_DIRECT), but the pipeline reads through the cache, which held "
                    "its data or may have (state: {}): the pipeline's rate does not tell of storage, so that it is in "
                    "the JSON result alone, not in the ladder and not in the verdict",
                    result.pipeline->cache.state));
  }
  const Conclusion& conclusion = result.conclusion;
  const double ratio = conclusion.predicted.of_measured_ratio.value_or(1);
  if (ratio <= kMost && ratio >= 1 / kMost) return;
  context.warn("prediction_off",
               fmt::format("the stages alone predict {} times what they gave together: one of them was not steady, "
                           "others used the machine, or they share more than cores; a longer --budget tells",
                           format_factor(ratio)));
}

void warn_of_steps(std::span<const RunResult> turns, Context& context) {
  for (const RunResult& turn : turns) {
    if (!turn.pipeline || turn.pipeline->steps >= kLeastSteps) continue;
    context.warn("pipeline_short",
                 fmt::format("the pipeline made {} in its time, and {} are needed for a rate: what it gave is in the "
                             "JSON result alone, not in the ladder and not in the verdict; more data or a longer "
                             "--budget gives more",
                             format_count(turn.pipeline->steps, "step"), kLeastSteps));
    return;
  }
}

void warn_of_failures(const RunResult& result, Context& context) {
  if (result.decode) warn_of_failures(result.decode->failures, result.decode->tried(), context);
}

}  // namespace shardkit
