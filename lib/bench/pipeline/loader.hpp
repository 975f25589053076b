#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/pipeline/batch.hpp"
#include "core/context.hpp"
#include "sync/task_group.hpp"

namespace shardkit::bench {

/// How images are decoded.
enum class DecodeKind {
  cpu,
  null,   ///< not at all: the samples of a batch keep their old content
  nvjpeg  ///< by the GPU that gets the batch, except for unsupported images
};
constexpr auto enum_names(DecodeKind) { return std::to_array<std::string_view>({"cpu", "null", "nvjpeg"}); }

struct LoaderSettings {
  std::uint64_t gpus = 1;
  std::uint64_t batch = 256;   ///< samples per GPU and training step
  std::uint64_t prefetch = 2;  ///< batches per GPU made ahead of the step; 0: only while it waits
  unsigned readers = 1;
  unsigned workers = 1;
  DecodeKind decode = DecodeKind::cpu;
  std::uint32_t crop = 224;
  image::TensorType type = image::TensorType::f32;
  SampleForm form = SampleForm::tensor;
  gpu::DeviceJpegDecoder* jpegs = nullptr;  ///< returns which images engines support; for DecodeKind::nvjpeg
  std::uint64_t largest_device_jpeg = 0;    ///< bytes of pixels: the CPU decodes larger images
  bool pinned = true;                       ///< pinned host memory for GPU copies; else pageable
  FlowLimits flow;

  /// Batches on each GPU at the same time: the prefetched ones and the current one.
  std::uint64_t slots() const { return prefetch + 1; }
};

/// Batches of all GPUs whose memory is used at the same time.
std::uint64_t batches_in_memory(const LoaderSettings& settings);

/// Host memory of a sample in its batch.
std::uint64_t sample_bytes(const LoaderSettings& settings);

/// Activity of the loader's threads, summed over epochs.
struct LoaderTally {
  ActivityTimes readers;
  ActivityTimes workers;
  ActivityTimes transfer;
  unsigned transfer_threads = 1;
  DecodeFailures failures;
  JpegPaths paths;            ///< of samples in batches, with DecodeKind::nvjpeg
  std::uint64_t decoded = 0;  ///< samples that became part of a batch
  std::uint64_t read_samples = 0;
  std::uint64_t read_bytes = 0;
};

/// A batch that the step can use.
struct LoadedBatch {
  std::uint64_t samples = 0;
  std::uint64_t slot = 0;  ///< named by the sink
  std::chrono::steady_clock::time_point ready{};
};

/// The threads between storage and the step: readers, workers that decode and augment, one per device that hands over.
/// Epochs run one after the other, each with new threads, like a loader whose iterator is created again. Used by one
/// thread.
class Loader {
 public:
  /// All outlive the loader. `trace` may be null. Throws the errors of the sink.
  Loader(const LoaderSettings& settings, ImageSource& source, BatchSink& sink, TraceLog* trace, Context& context);
  ~Loader();

  /// No new samples are read after this time.
  void end_reading_at(std::chrono::steady_clock::time_point moment) { settings_.flow.deadline = moment; }
  void start_epoch(std::uint64_t epoch);
  /// Lets the loader make the batches of one step, for a step that waits for batches without prefetch.
  void ask_for_step();
  /// The next batch of this GPU; empty at the end of the epoch or after a stop.
  std::optional<LoadedBatch> next(unsigned gpu);
  /// Fires if a thread failed or the context was stopped.
  std::stop_token stop_token() const;
  /// Joins the threads; rethrows the first exception.
  void finish_epoch();

  const LoaderSettings& settings() const { return settings_; }
  /// Called between epochs.
  const LoaderTally& tally() const { return tally_; }

 private:
  struct Epoch;
  /// Results of one thread of an epoch.
  struct alignas(64) Report {
    ActivityTimes times;
    std::chrono::steady_clock::time_point ended{};
    DecodeFailures failures;
    JpegPaths paths;
    std::uint64_t decoded = 0;
    std::uint64_t lost = 0;  ///< of those decoded: neither the GPU nor the CPU could decode it

    /// A thread that has finished its part of an epoch waits for the next one.
    void end(StageClock& clock);
    ActivityTimes times_until(std::chrono::steady_clock::time_point epoch_end) const;
  };

  void read(unsigned reader, const std::stop_token& stop);
  void work(unsigned worker, const std::stop_token& stop);
  void make_samples(StageClock& clock, Report& report, unsigned worker, const std::stop_token& stop);
  void hand_over(unsigned thread, const std::stop_token& stop);
  class DeviceLine;
  struct Release {
    void operator()(DeviceLine* line) const;
  };
  /// A finished batch on its way to a GPU. Nothing else goes to the GPU's device meanwhile.
  struct OrderedBatch {
    FinishedBatch batch;
    unsigned gpu = 0;
    std::unique_ptr<DeviceLine, Release> device;
  };
  /// Batches are taken, and come to each device, in the order in which they were finished.
  std::optional<OrderedBatch> take_batch(StageClock& clock, const std::stop_token& stop);
  /// Copies one batch to its GPU. Empty if no sample is left.
  std::optional<LoadedBatch> deliver(const FinishedBatch& batch, unsigned gpu, StageClock& clock, Report& report);
  TraceTrack* transfer_track(unsigned thread);
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
