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
#include "io/file_system.hpp"
#include "stats/latency_histogram.hpp"

/// The consumer of batches, and what comes of the times of its steps; docs/pipeline.md has the formulas.
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
    v.field({"mean", Unit::seconds, "total waiting time divided by the number of steps"}, mean);
    v.field({"p50", Unit::seconds, "half of the steps waited at most this long"}, p50);
    v.field({"p99", Unit::seconds, "99 of 100 steps waited at most this long", kJudged}, p99);
    v.field({"max", Unit::seconds, "longest wait"}, max);
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

/// Writes checkpoints as a training job does that waits for them: a new file, all bytes, fdatasync. The file never
/// gets a name of its own and is removed at once. One thread at a time.
class CheckpointWriter {
 public:
  /// Into the folder `folder`, which has to be there. `files` outlives the writer. Throws as `write` does.
  CheckpointWriter(io::FileSystem& files, std::string folder, std::uint64_t bytes);

  /// Writes one; breaks off when the stop fires. Throws Error{io, no_space, denied} with the file's path.
  void write(const std::stop_token& stop);

  std::uint64_t count() const { return count_; }
  std::uint64_t bytes() const { return bytes_; }
  /// From the first byte to the end of fdatasync: of all, and of the one that took longest.
  double seconds() const { return seconds_; }
  double longest() const { return longest_; }

 private:
  io::FileSystem& files_;
  std::string folder_;
  std::uint64_t bytes_;
  std::vector<std::byte> block_;
  std::uint64_t count_ = 0;
  double seconds_ = 0;
  double longest_ = 0;
};

/// What a step does for its time.
enum class StepKind {
  emulated,  ///< nothing: the thread sleeps
  spin       ///< a kernel computes on each GPU
};
constexpr auto enum_names(StepKind) { return std::to_array<std::string_view>({"emulated", "spin"}); }

struct StepSettings {
  double step_seconds = 0;
  std::uint64_t checkpoint_every = 0;  ///< steps; 0: never
  StepKind kind = StepKind::emulated;
};

/// The consumer: all GPUs of a data-parallel job in one thread. A step begins when each of them has its batch, and all
/// compute for the same time, for they wait for each other at its end. A step begins when its batches were there and
/// the last was over. An emulated one ends on time, even where the thread noticed either late because others had the
/// cores: an accelerator has a queue of its own. One that spins ends when the GPUs say so.
class StepLoop {
 public:
  /// All outlive the loop. `checkpoints` may be null when none is due, `trace` may be null.
  StepLoop(const StepSettings& settings, BatchSink& sink, CheckpointWriter* checkpoints, TraceLog* trace);

  /// Steps whose batches come later are taken but not counted, once a few were: when no more is read, those come that
  /// waited for storage longest, and their wait would be taken for the pace.
  void count_until(std::chrono::steady_clock::time_point end) { counted_until_ = end; }

  /// Starts the loader's epoch and steps through it. Time before the call, since the last epoch ended, does not count.
  /// Returns early when the loader was stopped; rethrows what a thread of it threw.
  void run_epoch(Loader& loader, std::uint64_t epoch);

  const StepLog& log() const { return log_; }
  /// The same by epoch, each with a first step of its own.
  const std::vector<StepLog>& epochs() const { return epochs_; }
  const ActivityTimes& times() const { return times_; }
  /// Samples of batches that made no step.
  std::uint64_t dropped() const { return dropped_; }

 private:
  void drop(const std::vector<LoadedBatch>& batches);
  bool run_step(Loader& loader, StageClock& clock);
  /// A batch for each GPU; fewer at the end of the epoch.
  std::vector<LoadedBatch> take_batches(Loader& loader, Step& step);
  /// False when the stop came.
  bool compute(std::span<const LoadedBatch> batches, const std::stop_token& stop, Step& step);
  bool counts(const Step& step) const;
  double seconds_at(std::chrono::steady_clock::time_point moment) const;

  StepSettings settings_;
  BatchSink& sink_;
  CheckpointWriter* checkpoints_;
  TraceLog* trace_;
  std::chrono::steady_clock::time_point zero_;  ///< moved by the time that does not count
  std::chrono::steady_clock::time_point counted_until_ = std::chrono::steady_clock::time_point::max();
  double asked_ = 0;
  StepLog log_;
  std::vector<StepLog> epochs_;
  ActivityTimes times_;
  std::uint64_t dropped_ = 0;
};

}  // namespace shardkit::bench
