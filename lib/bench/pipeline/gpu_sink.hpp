#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
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

/// Copies batches to GPUs on streams of their own, so that computing continues. Host memory comes from the NUMA nodes
/// of the GPUs, alternately if there are several. For SampleForm::crop, the GPU normalizes on a second stream; for
/// SampleForm::encoded, it decodes first.
class GpuSink final : public BatchSink {
 public:
  /// `devices` has at least one, and `decoders` one for each with SampleForm::encoded; all outlive the sink. Allocates
  /// all memory on the GPUs: throws Error{no_space} with the options to change if there is not enough, and
  /// Error{corrupt} if a GPU does not return what was copied to it or normalizes differently from the CPU
  /// (gpu_check.hpp).
  GpuSink(const LoaderSettings& settings, std::span<gpu::Device* const> devices,
          std::span<gpu::DeviceJpegDecoder* const> decoders, const system::Probe& probe, Context& context);
  ~GpuSink() override;

  SinkKind kind() const override { return SinkKind::gpu; }
  unsigned devices() const override { return static_cast<unsigned>(homes_.size()); }
  std::unique_ptr<BatchMemory> make_memory(std::size_t bytes) override;
  HandedBatch hand_over(const OutgoingBatch& batch, StageClock& clock) override;
  std::optional<Moment> wait_for(std::uint64_t slot) override;
  bool compute(std::span<const std::uint64_t> slots, double seconds, const std::stop_token& stop) override;
  void release(std::uint64_t slot) override;
  CopyTally copies() const override;

  /// What a step works on, after waiting for the slot.
  gpu::DeviceTensor tensor_at(std::uint64_t slot) const;

 private:
  /// A device, and the NUMA node of its host memory.
  struct Home {
    Home(gpu::Device* own, std::optional<std::uint64_t> nearest) : device(own), node(nearest) {}
    gpu::Device* device;
    std::optional<std::uint64_t> node;
    std::mutex handing_over;  ///< its lanes share what decodes
  };

  GpuLane& lane_of(std::uint64_t slot) const { return *lanes_[slot / settings_.slots()]; }

  const LoaderSettings settings_;
  const system::Probe& probe_;
  std::deque<Home> homes_;
  std::vector<std::unique_ptr<GpuJpegs>> jpegs_;  ///< by device
  std::vector<std::unique_ptr<GpuLane>> lanes_;   ///< by the job's GPUs
  std::size_t memories_ = 0;
};

/// Decodes images into one block of GPU memory, which is reused. One thread at a time.
class GpuJpegs {
 public:
  /// Both outlive it. `memory` bytes are for pixels; no image needs more.
  GpuJpegs(gpu::Device& device, gpu::DeviceJpegDecoder& decoder, std::uint64_t memory);

  /// Decodes the images that have a route: as many of the first samples as fit into the memory. Returns the number of
  /// samples, at least one. Waits until the pixels of the last call are no longer used.
  std::size_t decode(std::span<RawSample> samples);
  /// The pixels of that call's sample; null if it had no route, or the engine failed.
  const std::byte* pixels(std::size_t sample) const { return pixels_[sample]; }
  /// The pixels are used until `event`, which was recorded and outlives this object.
  void used_until(gpu::Event& event) { used_ = &event; }

 private:
  /// Assigns memory for pixels to samples, as many as fit; returns their number.
  std::size_t assign_memory(std::span<const RawSample> samples);
  void decode_by(gpu::JpegEngine engine, std::span<RawSample> samples);

  gpu::DeviceJpegDecoder& decoder_;
  gpu::DeviceBuffer memory_;
  gpu::Event* used_ = nullptr;
  std::vector<std::byte*> pixels_;
};

/// Host memory of a batch. For SampleForm::crop, one byte per sample with its flip comes before the samples, so that
/// one copy is enough.
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

/// One of the job's GPUs: takes batches, finishes them, computes on them. One thread hands over, another steps. If a
/// device replaces several GPUs, it has as many lanes.
class GpuLane {
 public:
  /// `jpegs` for SampleForm::encoded, else null; shared by lanes of one device.
  GpuLane(gpu::Device& device, const LoaderSettings& settings, GpuJpegs* jpegs);

  /// Device memory that lanes of these settings need.
  static std::uint64_t memory(const LoaderSettings& settings);

  /// Copies a batch to a free slot, has it finished, and returns when the memory may be written again.
  HandedBatch hand_over(const OutgoingBatch& batch, StageClock& clock);
  /// Whether the data of the slot was already there when this was called.
  bool wait_for(std::size_t slot);
  /// Queues computing on the slot's batch.
  void start_computing(std::size_t slot, std::uint64_t nanoseconds);
  /// Ends the current computation early. Nothing is computed afterwards.
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
    std::optional<gpu::DeviceBuffer> jobs;   ///< crops to cut out of decoded images
    std::unique_ptr<gpu::Event> copied;
    std::unique_ptr<gpu::Event> ready;
  };

  std::size_t take_slot();
  /// One copy of all samples.
  void hand_over_whole(std::size_t slot, const OutgoingBatch& batch);
  void normalize(std::size_t slot, std::uint64_t samples);
  /// Samples that the GPU decodes, in groups that fit into its memory.
  void hand_over_encoded(std::size_t slot, const OutgoingBatch& batch, StageClock& clock, HandedBatch& handed);
  /// Of `count` samples from `first`, decodes on the CPU those that the GPU could not decode.
  void decode_returned(const OutgoingBatch& batch, std::size_t first, std::size_t count, HandedBatch& handed);
  /// Makes samples of the decoded images.
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
  std::optional<gpu::HostBuffer> jobs_;  ///< CropJob, one per sample
  image::JpegDecoder decoder_;
  std::vector<bool> returned_;  ///< for samples of the group: the CPU decoded it after the GPU
  CopyTally copies_;
  std::uint64_t under_way_ = 0;  ///< bytes of copies that were not yet waited for
  std::mutex mutex_;
  std::vector<std::size_t> free_;
};

}  // namespace shardkit::bench
