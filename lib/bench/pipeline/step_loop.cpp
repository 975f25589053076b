#include "bench/pipeline/step_loop.hpp"

#include "bench/timing/precise_wait.hpp"

namespace shardkit {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

StepLoop::StepLoop(const StepSettings& settings, BatchSink& sink, CheckpointWriter* checkpoints, TraceLog* trace)
    : settings_(settings), sink_(sink), checkpoints_(checkpoints), trace_(trace), log_(settings.step_seconds) {}

double StepLoop::seconds_now() const { return std::chrono::duration<double>(Clock::now() - zero_).count(); }

void StepLoop::run_epoch(Loader& loader, std::uint64_t epoch) {
  zero_ = Clock::now() - duration_of(asked_);
  log_.next_epoch();
  epochs_.emplace_back(settings_.step_seconds);
  StageClock clock(Activity::starved, trace_ == nullptr ? nullptr : &trace_->track("step"));
  loader.start_epoch(epoch);
  while (run_step(loader, clock)) {
  }
  times_.add(clock.stop());
  loader.finish_epoch();
  asked_ = seconds_now();
}

bool StepLoop::run_step(Loader& loader, StageClock& clock) {
  loader.ask_for_step();
  std::vector<LoadedBatch> batches;
  Step step;
  step.asked = asked_;
  while (batches.size() < settings_.gpus) {
    const auto batch = loader.next();
    if (!batch) break;
    batches.push_back(*batch);
    step.samples += batch->samples;
  }
  if (batches.empty() || loader.stop_token().stop_requested()) return false;
  const Clock::time_point begin = Clock::now();
  clock.enter(Activity::compute);
  step.taken = std::chrono::duration<double>(begin - zero_).count();
  if (!wait_until(begin + duration_of(settings_.step_seconds), loader.stop_token())) return false;
  step.computed = seconds_now();
  for (const LoadedBatch& batch : batches) sink_.release(batch.place);
  if (settings_.checkpoint_every > 0 && (log_.steps() + 1) % settings_.checkpoint_every == 0) {
    clock.enter(Activity::checkpoint);
    checkpoints_->write(loader.stop_token());
  }
  clock.enter(Activity::starved);
  step.ended = seconds_now();
  log_.add(step);
  epochs_.back().add(step);
  asked_ = step.ended;
  return true;
}

}  // namespace shardkit
