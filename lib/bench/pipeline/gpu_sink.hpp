#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "bench/pipeline/batch.hpp"
#include "bench/pipeline/loader.hpp"
#include "core/context.hpp"
#include "gpu/device.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "gpu/tensor_math.hpp"
#include "image/jpeg_decoder.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {

class GpuJpegs;
class GpuLane;

/// Copies batches to GPUs, on a stream of their own: what is computed there goes on beside. Host memory comes from the
/// GPUs' own NUMA nodes, in turn where these are several. For SampleForm::crop the GPU normalises, on a second stream;
/// for SampleForm::encoded it decodes before.
class GpuSink final : public BatchSink {
 public:
  /// `devices` has at least one, and `decoders` one for each with SampleForm::encoded; all outlive the sink. Takes all
  /// memory on the GPUs at once: throws Error{no_space} that names the options to change where it is not there, and
  /// Error{corrupt} where a GPU does not return what was copied to it or normalises otherwise than the processor
  /// (gpu_check.hpp).
  GpuSink(const LoaderSettings& settings, std::span<gpu::Device* const> devices,
          std::span<gpu::DeviceJpegDecoder* const> decoders, const system::Probe& probe, Context& context);
  ~GpuSink() override;

  SinkKind kind() const override { return SinkKind::gpu; }
  std::unique_ptr<BatchMemory> make_memory(std::size_t bytes) override;
  HandedBatch hand_over(const OutgoingBatch& batch, StageClock& clock) override;
  std::optional<Moment> wait_for(std::uint64_t slot) override;
  bool compute(std::span<const std::uint64_t> slots, double seconds, const std::stop_token& stop) override;
  void release(std::uint64_t slot) override;
  CopyTally copies() const override;

  /// What a step works on, once the slot was waited for.
  gpu::DeviceTensor tensor_at(std::uint64_t slot) const;

 private:
  /// Where host memory is made.
  struct Home {
    gpu::Device* device;
    std::optional<std::uint64_t> node;
  };

  GpuLane& lane_of(std::uint64_t slot) const { return *lanes_[slot / settings_.slots()]; }

  const LoaderSettings settings_;
  const system::Probe& probe_;
  std::vector<Home> homes_;
  std::vector<std::unique_ptr<GpuJpegs>> jpegs_;  ///< by device
  std::vector<std::unique_ptr<GpuLane>> lanes_;   ///< by the job's GPUs
  std::size_t memories_ = 0;
};

/// Decodes images into one piece of a GPU's memory, which goes round. One thread at a time.
class GpuJpegs {
 public:
  /// Both outlive it. `memory` bytes are for pixels; no image that comes takes more.
  GpuJpegs(gpu::Device& device, gpu::DeviceJpegDecoder& decoder, std::uint64_t memory);

  /// Decodes the images that have a route, of as many samples, from the first on, as there is memory for; returns how
  /// many samples that are, one at least. Waits until the pixels of the last call are not used any more.
  std::size_t decode(std::span<RawSample> samples);
  /// Where the pixels of that call's sample are; null where there are none: it had no route, or the engine failed.
  const std::byte* pixels(std::size_t sample) const { return pixels_[sample]; }
  /// The pixels are used until `event`, which was recorded and lives as long as this.
  void used_until(gpu::Event& event) { used_ = &event; }

 private:
  /// Gives samples room for their pixels, as many as there is room for: how many.
  std::size_t assign_memory(std::span<const RawSample> samples);
  void decode_by(gpu::JpegEngine engine, std::span<RawSample> samples);

  gpu::DeviceJpegDecoder& decoder_;
  gpu::DeviceBuffer memory_;
  gpu::Event* used_ = nullptr;
  std::vector<std::byte*> pixels_;
};

/// Host memory of a batch. For SampleForm::crop a byte for each sample that says whether it is flipped lies before the
/// samples, so that one copy takes both.
class GpuBatchMemory final : public BatchMemory {
 public:
  GpuBatchMemory(gpu::Device& device, const LoaderSettings& settings, std::size_t bytes);

  MutableBytes bytes() override { return buffer_.bytes().subspan(head_); }
  MutableBytes flips() { return buffer_.bytes().first(head_); }
  /// Flips and the first `bytes` of the samples.
  Bytes packed(std::size_t bytes) { return buffer_.bytes().first(head_ + bytes); }

 private:
  std::size_t head_;
  gpu::HostBuffer buffer_;
};

/// What one of the job's GPUs does: takes batches, finishes them, computes on them. One thread hands over, another
/// steps. Where a device stands for several GPUs, it has as many lanes.
class GpuLane {
 public:
  /// `jpegs` for SampleForm::encoded, else null; lanes of one device share it.
  GpuLane(gpu::Device& device, const LoaderSettings& settings, GpuJpegs* jpegs);

  /// Device memory that lanes of these settings take.
  static std::uint64_t memory(const LoaderSettings& settings);

  /// Brings a batch to a free slot, has it finished, and returns once the memory may be written again.
  HandedBatch hand_over(const OutgoingBatch& batch, StageClock& clock);
  /// Whether what is to be at the slot was there already when this was called.
  bool wait_for(std::size_t slot);
  /// Enqueues computing on the slot's batch.
  void start_computing(std::size_t slot, std::uint64_t nanoseconds);
  /// Ends what is being computed before its time. Nothing is computed from then on.
  void abandon() { gate_->open(); }
  void wait_for_computing() { computed_->wait(); }
  void release(std::size_t slot);

  gpu::DeviceTensor tensor_at(std::size_t slot) const;
  const CopyTally& copies() const { return copies_; }

 private:
  struct Slot {
    Slot(gpu::Device& device, const LoaderSettings& settings);
    gpu::DeviceBuffer tensor;
    std::optional<gpu::DeviceBuffer> crops;  ///< flips, then levels
    std::optional<gpu::DeviceBuffer> jobs;   ///< what is to be cut out of decoded images
    std::unique_ptr<gpu::Event> copied;
    std::unique_ptr<gpu::Event> ready;
  };

  std::size_t take_place();
  /// One copy of all samples.
  void hand_over_whole(std::size_t slot, const OutgoingBatch& batch);
  void normalise(std::size_t slot, std::uint64_t samples);
  /// Samples that the GPU decodes, as many at a time as it has memory for.
  void hand_over_encoded(std::size_t slot, const OutgoingBatch& batch, StageClock& clock, HandedBatch& handed);
  /// Of `count` samples from `first` on, decodes on the CPU what the GPU was to decode and could not.
  void decode_returned(const OutgoingBatch& batch, std::size_t first, std::size_t count, HandedBatch& handed);
  /// Makes samples of what of them was decoded.
  void crop(std::size_t slot, const OutgoingBatch& batch, std::size_t first, std::size_t count, HandedBatch& handed);
  void copy(gpu::DeviceSpan to, Bytes from);
  /// Waits for the copies to a slot since `started_`, and counts them.
  void finish_copies(Slot& slot, std::chrono::steady_clock::time_point begin);

  const LoaderSettings& settings_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unique_ptr<gpu::Event> started_;
  std::unique_ptr<gpu::Event> computed_;
  std::unique_ptr<gpu::Gate> gate_;
  std::unique_ptr<gpu::Stream> copying_;
  std::unique_ptr<gpu::Stream> finishing_;
  std::unique_ptr<gpu::Stream> computing_;
  GpuJpegs* jpegs_;
  std::optional<gpu::HostBuffer> jobs_;  ///< CropJob, one for each sample
  image::JpegDecoder decoder_;
  std::vector<bool> returned_;  ///< of the group's samples: the CPU decoded it after the GPU
  CopyTally copies_;
  std::uint64_t under_way_ = 0;  ///< bytes of copies that were not waited for yet
  std::mutex mutex_;
  std::vector<std::size_t> free_;
};

}  // namespace shardkit::bench
