#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/fields.hpp"
#include "stats/latency_histogram.hpp"

/// From the times of single steps to utilisation, stall and rates. Pure; docs/pipeline.md has the formulas.
namespace shardkit::bench {

/// One step. Times in seconds on a clock of its own.
struct Step {
  double asked = 0;     ///< the step before is over: from now on the batches are waited for
  double taken = 0;     ///< they are there, the accelerator computes
  double computed = 0;  ///< it is done
  double ended = 0;     ///< so is the checkpoint, if one was due
  std::uint64_t samples = 0;
  double late = 0;  ///< how long after its end the tool's thread noticed
};

struct BatchLatency {
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
  double max = 0;

  void describe(FieldVisitor& v) {
    v.field({"mean", Unit::seconds, "all waiting over the number of steps"}, mean);
    v.field({"p50", Unit::seconds, "half of the steps waited no longer"}, p50);
    v.field({"p99", Unit::seconds, "99 of 100 waited no longer", kJudged}, p99);
    v.field({"max", Unit::seconds, "the longest"}, max);
  }
};

/// Steps of one or more epochs. The first step of all stands outside every sum, as in MLPerf Storage; where it is the
/// only one, rates are of it alone and ratios are empty.
class StepLog {
 public:
  /// `step_seconds`: what each step is to compute.
  explicit StepLog(double step_seconds) : step_seconds_(step_seconds) {}

  /// Steps of an epoch come in their order; the first asks when the epoch's loader starts.
  void add(const Step& step);
  /// The next step belongs to a new epoch. What lies between the end of a step and the asking of the
  /// next is nobody's time: caches were looked at.
  void next_epoch() { new_epoch_ = true; }

  std::uint64_t steps() const { return steps_; }
  std::uint64_t samples() const { return samples_; }

  /// Samples of all steps but the first, over the time from the first step's batches being taken to the last's.
  double samples_per_second() const;
  /// Computing as asked for, over running time; empty where nothing computes.
  std::optional<double> au() const;
  /// Waiting for batches over running time.
  std::optional<double> stall() const;
  /// The same without the first steps of epochs, which wait for a loader that begins.
  double stall_within_epochs() const { return running_ > 0 ? (waiting_ - at_boundaries_) / running_ : 0; }
  /// Checkpoints over running time.
  double checkpoint_share() const;
  /// Time from start to the first step's batches.
  double first_batch() const { return first_batch_; }
  BatchLatency batch_latency() const;
  /// How late the tool's thread was at the end of steps.
  double mean_late() const { return steps_ > 0 ? late_ / static_cast<double>(steps_) : 0; }
  double most_late() const { return most_late_; }
  /// Seconds between the last step of an epoch and the first of the next, by epoch; none for the first.
  const std::vector<double>& boundaries() const { return boundaries_; }

 private:
  double step_seconds_;
  std::uint64_t steps_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t later_samples_ = 0;
  double running_ = 0;     ///< from the end of the first step on
  double production_ = 0;  ///< from the first taken to the last taken
  double tail_ = 0;        ///< from the last taken to its step's end
  double waiting_ = 0;
  double at_boundaries_ = 0;
  double checkpointing_ = 0;
  double late_ = 0;
  double most_late_ = 0;
  double first_batch_ = 0;
  bool new_epoch_ = true;
  stats::LatencyHistogram waits_;
  std::vector<double> boundaries_;
};

}  // namespace shardkit::bench
