#include "bench/pipeline/pipeline_rows.hpp"

#include <algorithm>

namespace shardkit {
namespace {

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// Splits a stage's threads' time in three; what is left counts as starved, so that the sum is 1.
StageRow row(std::string_view name, std::uint64_t threads, const ActivityTimes& times, double busy, double blocked) {
  const double total = times.total_wall();
  StageRow stage{std::string(name), threads};
  stage.busy_ratio = share(busy, total);
  stage.blocked_ratio = share(blocked, total);
  stage.starved_ratio = std::max(0.0, 1 - stage.busy_ratio - stage.blocked_ratio);
  return stage;
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
  const double checkpoint = step.wall_of(Activity::checkpoint);
  const double no_leave = work.wall_of(Activity::blocked);
  std::vector<StageRow> rows;
  rows.push_back(row("read", run.loader.readers, read, read.wall_of(Activity::read), read.wall_of(Activity::blocked)));
  rows.push_back(row("decode", run.loader.workers, work, decode, no_leave + augment));
  rows.push_back(row("augment", run.loader.workers, work, augment, no_leave));
  rows.push_back(
      row("transfer", 1, transfer, transfer.wall_of(Activity::transfer), transfer.wall_of(Activity::blocked)));
  rows.push_back(row("compute", 1, step, compute, checkpoint));
  rows.push_back(row("checkpoint", 1, step, checkpoint, 0));
  const auto samples = static_cast<double>(run.tally.decoded);
  const double waits = work.cpu_of(Activity::starved) + work.cpu_of(Activity::blocked);
  const std::array cpu{read.total_cpu(),
                       work.cpu_of(Activity::decode) + waits + transfer.cpu_of(Activity::decode),
                       work.cpu_of(Activity::augment),
                       transfer.total_cpu() - transfer.cpu_of(Activity::decode),
                       step.cpu_of(Activity::compute) + step.cpu_of(Activity::starved),
                       step.cpu_of(Activity::checkpoint)};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].cpu_seconds_per_sample = share(cpu[i], samples);
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
  shares.decode = of(run.tally.workers, Activity::decode);
  shares.augment = of(run.tally.workers, Activity::augment);
  const ActivityTimes& workers = run.tally.workers;
  const double decoding = workers.wall_of(Activity::decode);
  shares.worker_core = decoding > 0 ? workers.cpu_of(Activity::decode) / decoding : 1;
  shares.workers_blocked = of(run.tally.workers, Activity::blocked);
  shares.transfer = of(run.tally.transfer, Activity::transfer);
  shares.device_decode = of(run.tally.transfer, Activity::decode);
  shares.compute = of(run.step_times, Activity::compute);
  shares.checkpoint = of(run.step_times, Activity::checkpoint);
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

}  // namespace shardkit
