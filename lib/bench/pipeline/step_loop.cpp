#include "bench/pipeline/step_loop.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/timing/timed_run.hpp"

namespace shardkit::bench {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

void StepLog::add(const Step& step) {
  ++steps_;
  samples_ += step.samples;
  const double wait = step.taken - step.asked;
  late_ += step.late;
  most_late_ = std::max(most_late_, step.late);
  if (steps_ == 1) {
    first_batch_ = wait;
  } else {
    if (new_epoch_) {
      boundaries_.push_back(wait);
      at_boundaries_ += wait;
    }
    later_samples_ += step.samples;
    running_ += step.ended - step.asked;
    production_ += tail_ + wait;
    waiting_ += wait;
    waits_.record(std::chrono::nanoseconds(std::llround(wait * 1e9)));
  }
  tail_ = step.ended - step.taken;
  new_epoch_ = false;
}

double StepLog::samples_per_second() const {
  if (steps_ == 0) return 0;
  if (steps_ == 1) return first_batch_ > 0 ? static_cast<double>(samples_) / first_batch_ : 0;
  return production_ > 0 ? static_cast<double>(later_samples_) / production_ : 0;
}

std::optional<double> StepLog::au() const {
  if (steps_ < 2 || running_ <= 0 || step_seconds_ <= 0) return std::nullopt;
  return std::min(1.0, static_cast<double>(steps_ - 1) * step_seconds_ / running_);
}

std::optional<double> StepLog::stall() const {
  if (steps_ < 2 || running_ <= 0) return std::nullopt;
  return waiting_ / running_;
}

BatchLatency StepLog::batch_latency() const {
  if (waits_.count() == 0) return {first_batch_, first_batch_, first_batch_, first_batch_};
  return {waiting_ / static_cast<double>(waits_.count()), waits_.quantile(0.5), waits_.quantile(0.99),
          waits_.quantile(1)};
}

StepLoop::StepLoop(const StepSettings& settings, BatchSink& sink, TraceLog* trace)
    : settings_(settings), sink_(sink), trace_(trace), log_(settings.step_seconds) {}

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

std::vector<LoadedBatch> StepLoop::take_batches(Loader& loader, Step& step) {
  std::vector<LoadedBatch> batches;
  for (unsigned gpu = 0; gpu < loader.settings().gpus; ++gpu) {
    const auto batch = loader.next(gpu);
    if (!batch) continue;
    batches.push_back(*batch);
    step.samples += batch->samples;
    step.taken = std::max(step.taken, seconds_at(batch->ready));
  }
  for (const LoadedBatch& batch : batches) {
    if (const auto moment = sink_.wait_for(batch.slot)) step.taken = std::max(step.taken, seconds_at(*moment));
  }
  return batches;
}

bool StepLoop::compute(std::span<const LoadedBatch> batches, const std::stop_token& stop, Step& step) {
  step.ended = step.taken + settings_.step_seconds;
  if (settings_.kind == StepKind::emulated) {
    if (!wait_until(zero_ + duration_of(step.ended), stop)) return false;
    step.late = seconds_at(Clock::now()) - step.ended;
    return true;
  }
  std::vector<std::uint64_t> slots;
  for (const LoadedBatch& batch : batches) slots.push_back(batch.slot);
  if (!sink_.compute(slots, settings_.step_seconds, stop)) return false;
  step.ended = seconds_at(Clock::now());
  return true;
}

bool StepLoop::run_step(Loader& loader, StageClock& clock) {
  loader.ask_for_step();
  Step step;
  step.asked = asked_;
  step.taken = asked_;
  const std::vector<LoadedBatch> batches = take_batches(loader, step);
  if (batches.empty() || loader.stop_token().stop_requested()) return false;
  clock.enter(Activity::compute);
  if (!compute(batches, loader.stop_token(), step)) return false;
  for (const LoadedBatch& batch : batches) sink_.release(batch.slot);
  clock.enter(Activity::starved);
  if (counts(step)) {
    log_.add(step);
    epochs_.back().add(step);
  }
  asked_ = step.ended;
  return true;
}

}  // namespace shardkit::bench
