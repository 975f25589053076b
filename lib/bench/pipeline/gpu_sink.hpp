#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bench/pipeline/batch.hpp"
#include "bench/pipeline/loader.hpp"
#include "core/context.hpp"
#include "gpu/device.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {

/// Copies batches to GPUs on streams of their own, so that computing continues. Host memory comes from the NUMA nodes
/// of the GPUs, alternately if there are several. For SampleForm::crop, the GPU normalizes on a second stream; for
/// SampleForm::encoded, it decodes first.
class GpuSink final : public BatchSink {
 public:
  /// `devices` has at least one, and `decoders` one for each with SampleForm::encoded; all outlive the sink. Allocates
  /// all memory on the GPUs: throws Error{no_space} with the options to change if there is not enough, and
  /// Error{corrupt} if a GPU does not return what was copied to it or normalizes differently from the CPU.
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
    gpu::Device* device;
    std::optional<std::uint64_t> node;
  };
  class Jpegs;
  class Lane;

  Lane& lane_of(std::uint64_t slot) const { return *lanes_[slot / settings_.slots()]; }

  const LoaderSettings settings_;
  const system::Probe& probe_;
  std::vector<Home> homes_;
  std::vector<std::unique_ptr<Jpegs>> jpegs_;  ///< by device
  std::vector<std::unique_ptr<Lane>> lanes_;   ///< by the job's GPUs
  std::size_t memories_ = 0;
};

}  // namespace shardkit::bench
