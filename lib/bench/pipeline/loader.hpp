#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/input/decode_failures.hpp"
#include "bench/pipeline/batch.hpp"
#include "bench/pipeline/sample_source.hpp"
#include "bench/pipeline/trace.hpp"
#include "core/context.hpp"
#include "sync/task_group.hpp"

namespace shardkit::bench {

/// What the loader's threads did, epoch by epoch summed up.
struct LoaderTally {
  ActivityTimes readers;
  ActivityTimes workers;
  ActivityTimes transfer;
  DecodeFailures failures;
  JpegPaths paths;            ///< of samples in batches, with DecodeKind::nvjpeg
  std::uint64_t decoded = 0;  ///< samples that became part of a batch
  std::uint64_t dropped = 0;  ///< of last batches that were not full, or too few for all GPUs
  std::uint64_t read_samples = 0;
  std::uint64_t read_bytes = 0;
};

/// A batch where the step can use it.
struct LoadedBatch {
  std::uint64_t samples = 0;
  std::uint64_t place = 0;  ///< as the sink named it
  std::chrono::steady_clock::time_point ready{};
};

/// The threads between storage and the step: readers, workers that decode and augment, one that hands over. Epochs are
/// run one after the other, each with fresh threads, as a loader does whose iterator is made anew. One thread uses it.
class Loader {
 public:
  /// All outlive the loader. `trace` may be null. Throws what the sink throws.
  Loader(const LoaderSettings& settings, ImageSource& source, BatchSink& sink, TraceLog* trace, Context& context);
  ~Loader();

  /// No new samples are read from then on.
  void end_reading_at(std::chrono::steady_clock::time_point moment) { settings_.flow.deadline = moment; }
  void start_epoch(std::uint64_t epoch);
  /// Lets the loader make one step's batches: before a step that waits for what was not made ahead.
  void ask_for_step();
  /// The next batch; empty at the end of the epoch or when something stopped it.
  std::optional<LoadedBatch> next();
  /// Fires when a thread failed or the context's stop did.
  std::stop_token stop_token() const;
  /// Joins the threads; rethrows the first exception of one.
  void finish_epoch();

  /// Between epochs.
  const LoaderTally& tally() const { return tally_; }

 private:
  struct Epoch;
  /// What one thread of an epoch leaves behind.
  struct alignas(64) Report {
    ActivityTimes times;
    std::chrono::steady_clock::time_point ended{};
    DecodeFailures failures;
    JpegPaths paths;
    std::uint64_t decoded = 0;
    std::uint64_t lost = 0;  ///< of those decoded: the GPU could not do it, nor the CPU after it

    /// A thread that has done its part of an epoch waits for the next one.
    void end(StageClock& clock);
    ActivityTimes times_until(std::chrono::steady_clock::time_point epoch_end) const;
  };

  void read(unsigned reader, const std::stop_token& stop);
  void work(unsigned worker, const std::stop_token& stop);
  void make_samples(StageClock& clock, Report& report, unsigned worker, const std::stop_token& stop);
  void hand_over(const std::stop_token& stop);
  /// Brings one batch to its GPU. Empty when nothing of it is left.
  std::optional<LoadedBatch> bring(const FinishedBatch& batch, unsigned gpu, StageClock& clock);
  TraceTrack* track(const std::string& role, std::optional<unsigned> number = {});

  LoaderSettings settings_;
  std::uint64_t sample_bytes_;
  ImageSource& source_;
  BatchSink& sink_;
  TraceLog* trace_;
  Context& context_;
  std::vector<std::unique_ptr<BatchMemory>> memories_;
  SampleBuffers buffers_;
  std::unique_ptr<Epoch> epoch_;
  LoaderTally tally_;
};

}  // namespace shardkit::bench
