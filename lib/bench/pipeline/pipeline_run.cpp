#include "bench/pipeline/pipeline_run.hpp"

#include "bench/timing/timed_run.hpp"

namespace shardkit {
namespace {

std::optional<double> residency_of(std::span<const InputFile> files, Context& context) {
  return files.empty() ? std::nullopt : residency(files, context);
}

}  // namespace

PipelineRun run_pipeline(const PipelineWork& work, LoaderSettings settings, const StepSettings& step,
                         CheckpointWriter* checkpoints, TraceLog* trace, Context& context) {
  if (!work.files.empty()) prepare_cache(work.files, work.cache, std::nullopt, context);
  settings.flow.queue_bytes = queue_bytes(settings, work.mean_sample_bytes);
  if (work.budget) settings.flow.deadline = moment_in(*work.budget);
  StepLoop loop(step, work.sink, checkpoints, trace);
  Loader loader(settings, work.source, work.sink, trace, context);
  PipelineRun run{settings, {}, StepLog(step.step_seconds), {}, {}, {}, {}};
  for (std::uint64_t epoch = 0; epoch < work.epochs; ++epoch) {
    if (epoch > 0 && settings.flow.deadline && std::chrono::steady_clock::now() >= *settings.flow.deadline) break;
    run.residency.push_back(residency_of(work.files, context));
    context.progress().start("running the pipeline", settings.flow.samples.value_or(0));
    loop.run_epoch(loader, epoch);
    context.throw_if_stopped();
    if (loop.log().steps() == 0) break;  // nothing came: the next epoch has nothing either
  }
  run.residency_after = residency_of(work.files, context);
  run.tally = loader.tally();
  run.log = loop.log();
  run.epochs = loop.epochs();
  run.step_times = loop.times();
  return run;
}

}  // namespace shardkit
