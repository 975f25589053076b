#include "bench/pipeline/steps/step_log.hpp"

#include <algorithm>
#include <cmath>

namespace shardkit::bench {

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
    checkpointing_ += step.ended - step.computed;
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

double StepLog::checkpoint_share() const { return running_ > 0 ? checkpointing_ / running_ : 0; }

BatchLatency StepLog::batch_latency() const {
  if (waits_.count() == 0) return {first_batch_, first_batch_, first_batch_, first_batch_};
  return {waiting_ / static_cast<double>(waits_.count()), waits_.quantile(0.5), waits_.quantile(0.99),
          waits_.quantile(1)};
}

}  // namespace shardkit::bench
