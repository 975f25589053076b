#include "bench/pipeline/step_loop.hpp"

#include <algorithm>

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

double StepLoop::seconds_at(Clock::time_point moment) const {
  return std::chrono::duration<double>(moment - zero_).count();
}

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
  asked_ = std::max(asked_, seconds_at(Clock::now()));
}

bool StepLoop::counts(const Step& step) const {
  constexpr std::uint64_t kFew = 5;
  return log_.steps() < kFew || zero_ + duration_of(step.taken) <= counted_until_;
}

bool StepLoop::run_step(Loader& loader, StageClock& clock) {
  loader.ask_for_step();
  std::vector<LoadedBatch> batches;
  Step step;
  step.asked = asked_;
  step.taken = asked_;
  while (batches.size() < settings_.gpus) {
    const auto batch = loader.next();
    if (!batch) break;
    batches.push_back(*batch);
    step.samples += batch->samples;
    step.taken = std::max(step.taken, seconds_at(batch->ready));
  }
  if (batches.empty() || loader.stop_token().stop_requested()) return false;
  clock.enter(Activity::compute);
  step.computed = step.taken + settings_.step_seconds;
  step.ended = step.computed;
  if (!wait_until(zero_ + duration_of(step.computed), loader.stop_token())) return false;
  step.late = seconds_at(Clock::now()) - step.computed;
  for (const LoadedBatch& batch : batches) sink_.release(batch.place);
  if (settings_.checkpoint_every > 0 && (log_.steps() + 1) % settings_.checkpoint_every == 0) {
    clock.enter(Activity::checkpoint);
    checkpoints_->write(loader.stop_token());
    step.ended = seconds_at(Clock::now());
  }
  clock.enter(Activity::starved);
  if (counts(step)) {
    log_.add(step);
    epochs_.back().add(step);
  }
  asked_ = step.ended;
  return true;
}

}  // namespace shardkit
