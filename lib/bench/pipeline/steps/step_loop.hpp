#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "bench/pipeline/loader/batch.hpp"
#include "bench/pipeline/loader/loader.hpp"
#include "bench/pipeline/steps/step_log.hpp"
#include "bench/pipeline/steps/trace.hpp"
#include "core/fields.hpp"
#include "io/file_system.hpp"

namespace shardkit::bench {

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
  std::uint64_t gpus = 1;
  double step_seconds = 0;
  std::uint64_t checkpoint_every = 0;  ///< steps; 0: never
  bool drop_last = false;              ///< batches at an epoch's end that are too few for all GPUs make no step
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
