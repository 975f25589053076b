#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "bench/pipeline/batch.hpp"
#include "bench/pipeline/loader.hpp"
#include "bench/pipeline/trace.hpp"
#include "core/fields.hpp"
#include "stats/latency_histogram.hpp"

/// The consumer of batches, and the evaluation of its step times; docs/explain/pipeline.md has the formulas.
namespace shardkit::bench {

/// One step. Times in seconds on its own clock.
struct Step {
  double asked = 0;  ///< the previous step has ended: from now on it waits for its batches
  double taken = 0;  ///< the batches are there, the accelerator computes
  double ended = 0;  ///< it is done
  std::uint64_t samples = 0;
  double late = 0;  ///< delay until the thread noticed the end
};

struct BatchLatency {
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
  double max = 0;

  void describe(FieldList& v) {
    v.field({"mean", Unit::seconds, "total waiting time divided by the number of steps"}, mean);
    v.field({"p50", Unit::seconds, "half of the steps waited at most this long"}, p50);
    v.field({"p99", Unit::seconds, "99 of 100 steps waited at most this long", kJudged}, p99);
    v.field({"max", Unit::seconds, "longest wait"}, max);
  }
};

/// Steps of one or more epochs. The first step is excluded from all sums, as in MLPerf Storage. If it is the only one,
/// rates are from it and ratios are empty.
class StepLog {
 public:
  /// `step_seconds`: compute time of each step.
  explicit StepLog(double step_seconds) : step_seconds_(step_seconds) {}

  /// The steps of an epoch in order; the first one starts to wait when the epoch's loader starts.
  void add(const Step& step);
  /// The next step belongs to a new epoch. The time between the end of a step and the start of the next does not count:
  /// the page cache was checked.
  void next_epoch() { new_epoch_ = true; }

  std::uint64_t steps() const { return steps_; }
  std::uint64_t samples() const { return samples_; }

  /// Samples of all steps but the first, divided by the time from the start of the first step to the start of the last.
  double samples_per_second() const;
  /// Compute time divided by running time; empty without compute time.
  std::optional<double> au() const;
  /// Waiting time divided by running time.
  std::optional<double> stall() const;
  /// The same without the first steps of epochs, which wait for a loader that is starting.
  double stall_within_epochs() const { return running_ > 0 ? (waiting_ - at_boundaries_) / running_ : 0; }
  /// Time from the start until the first step has its batches.
  double first_batch() const { return first_batch_; }
  BatchLatency batch_latency() const;
  /// Delay of the thread at the ends of steps.
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
  double production_ = 0;  ///< from the start of the first step to the start of the last
  double tail_ = 0;        ///< from the start of the last step to its end
  double waiting_ = 0;
  double at_boundaries_ = 0;
  double late_ = 0;
  double most_late_ = 0;
  double first_batch_ = 0;
  bool new_epoch_ = true;
  stats::LatencyHistogram waits_;
  std::vector<double> boundaries_;
};

/// How a step is emulated.
enum class StepKind {
  emulated,  ///< the thread sleeps
  spin       ///< a kernel computes on each GPU
};
constexpr auto enum_names(StepKind) { return std::to_array<std::string_view>({"emulated", "spin"}); }

struct StepSettings {
  double step_seconds = 0;
  StepKind kind = StepKind::emulated;
};

/// The consumer: all GPUs of a data-parallel job in one thread. A step begins when each GPU has its batch, and all
/// compute for the same time, because they wait for each other at the end. An emulated step ends on time, even if the
/// thread noticed late because the cores were busy: an accelerator has its own queue. A spinning step ends when the
/// GPUs report it.
class StepLoop {
 public:
  /// All outlive the loop. `trace` may be null.
  StepLoop(const StepSettings& settings, BatchSink& sink, TraceLog* trace);

  /// When no more is read, only the batches with the longest waits for storage are left. They are taken but not
  /// counted, if enough steps were made before.
  void count_until(std::chrono::steady_clock::time_point end) { counted_until_ = end; }

  /// Starts the loader's epoch and runs its steps. The time since the last epoch does not count. Returns early if the
  /// loader was stopped; rethrows the errors of its threads.
  void run_epoch(Loader& loader, std::uint64_t epoch);

  const StepLog& log() const { return log_; }
  /// The same by epoch, each with its own first step.
  const std::vector<StepLog>& epochs() const { return epochs_; }
  const ActivityTimes& times() const { return times_; }

 private:
  bool run_step(Loader& loader, StageClock& clock);
  /// One batch per GPU; fewer at the end of the epoch.
  std::vector<LoadedBatch> take_batches(Loader& loader, Step& step);
  /// False after a stop.
  bool compute(std::span<const LoadedBatch> batches, const std::stop_token& stop, Step& step);
  bool counts(const Step& step) const;
  double seconds_at(std::chrono::steady_clock::time_point moment) const;

  StepSettings settings_;
  BatchSink& sink_;
  TraceLog* trace_;
  std::chrono::steady_clock::time_point zero_;  ///< shifted by the time that does not count
  std::chrono::steady_clock::time_point counted_until_ = std::chrono::steady_clock::time_point::max();
  double asked_ = 0;
  StepLog log_;
  std::vector<StepLog> epochs_;
  ActivityTimes times_;
};

}  // namespace shardkit::bench
