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
  StepLoop loop(step, work.sink, checkpoints, trace);
  Loader loader(settings, work.source, work.sink, trace, context);
  std::optional<std::chrono::steady_clock::time_point> deadline;
  if (work.budget) deadline = moment_in(*work.budget);  // of what is measured: memory for batches is there now
  if (deadline) {
    loader.end_reading_at(*deadline);
    loop.count_until(*deadline);
  }
  const auto out_of_time = [&] { return deadline && std::chrono::steady_clock::now() >= *deadline; };
  const CopyTally copies = work.sink.copies();
  PipelineRun run{settings, {}, StepLog(step.step_seconds), {}, {}, {}, {}};
  for (std::uint64_t epoch = 0; epoch < work.epochs; ++epoch) {
    if (epoch > 0 && out_of_time()) break;
    run.residency.push_back(residency_of(work.files, context));
    context.progress().start("running the pipeline", settings.flow.samples.value_or(0));
    const double cpu_before = process_cpu_seconds();
    loop.run_epoch(loader, epoch);
    run.process_cpu_seconds += process_cpu_seconds() - cpu_before;
    context.throw_if_stopped();
    if (loop.log().steps() == 0) break;  // nothing came: the next epoch has nothing either
  }
  run.out_of_time = out_of_time();
  run.residency_after = residency_of(work.files, context);
  run.tally = loader.tally();
  run.tally.dropped += loop.dropped();
  run.log = loop.log();
  run.epochs = loop.epochs();
  run.step_times = loop.times();
  run.copies = work.sink.copies().since(copies);
  return run;
}

}  // namespace shardkit
