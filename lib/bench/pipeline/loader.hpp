#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/pipeline/batch.hpp"
#include "bench/pipeline/sample_source.hpp"
#include "bench/pipeline/trace.hpp"
#include "core/context.hpp"
#include "sync/task_group.hpp"

namespace shardkit::bench {

/// How images become pixels.
enum class DecodeKind {
  cpu,
  null,   ///< not at all: samples of a batch stay as they were
  nvjpeg  ///< by the GPU that takes the batch, but those that no engine of it takes
};
constexpr auto enum_names(DecodeKind) { return std::to_array<std::string_view>({"cpu", "null", "nvjpeg"}); }

struct LoaderSettings {
  std::uint64_t gpus = 1;
  std::uint64_t batch = 256;   ///< samples a GPU and step
  std::uint64_t prefetch = 2;  ///< batches a GPU that are made ahead of the step; 0: only while it waits
  unsigned readers = 1;
  unsigned workers = 1;
  DecodeKind decode = DecodeKind::cpu;
  std::uint32_t crop = 224;
  image::TensorType type = image::TensorType::f32;
  image::TensorLayout layout = image::TensorLayout::nchw;
  SampleForm form = SampleForm::tensor;
  gpu::DeviceJpegDecoder* jpegs = nullptr;  ///< says which images engines take; for DecodeKind::nvjpeg
  std::uint64_t largest_device_jpeg = 0;    ///< bytes of pixels: larger images are the CPU's
  bool pinned = true;                       ///< host memory that GPUs copy from; else pageable
  bool drop_last = false;  ///< an epoch's last samples make no step where they are too few for a batch of every GPU
  std::uint64_t seed = 0;
  FlowLimits flow;

  /// Batches on each GPU at once: those made ahead, and the one that is computed on.
  std::uint64_t slots() const { return prefetch + 1; }
};

/// Batches of all GPUs whose memory is in use at once.
std::uint64_t batches_in_memory(const LoaderSettings& settings);

/// Of host memory that a sample takes in its batch.
std::uint64_t sample_bytes(const LoaderSettings& settings);

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
  std::uint64_t slot = 0;  ///< as the sink named it
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

  const LoaderSettings& settings() const { return settings_; }
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
