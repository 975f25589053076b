#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bench/pipeline/loader/batch.hpp"
#include "core/context.hpp"
#include "gpu/device.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "image/tensor_type.hpp"
#include "system/probe.hpp"

namespace shardkit::bench {

struct GpuSinkSettings {
  std::uint64_t gpus = 1;    ///< that step together; more than there are devices share them in turn
  std::uint64_t places = 3;  ///< for batches on each: those made ahead, and the one that is computed on
  std::uint64_t batch = 256;
  std::uint32_t side = 224;
  image::TensorType type = image::TensorType::f32;
  image::TensorLayout layout = image::TensorLayout::nchw;
  SampleForm form = SampleForm::tensor;
  bool pinned = true;             ///< host memory; else pageable
  std::uint64_t jpeg_memory = 0;  ///< on each device, for decoded images; with SampleForm::encoded
};

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
  GpuSink(const GpuSinkSettings& settings, std::span<gpu::Device* const> devices,
          std::span<gpu::DeviceJpegDecoder* const> decoders, const system::Probe& probe, Context& context);
  ~GpuSink() override;

  std::string_view name() const override { return "gpu"; }
  std::unique_ptr<BatchMemory> make_memory(std::size_t bytes) override;
  HandedBatch hand_over(const OutgoingBatch& batch, StageClock& clock) override;
  std::optional<Moment> wait_for(std::uint64_t place) override;
  bool compute(std::span<const std::uint64_t> places, double seconds, const std::stop_token& stop) override;
  void release(std::uint64_t place) override;
  CopyTally copies() const override;

  /// What a step works on, once the place was waited for.
  gpu::DeviceTensor tensor_at(std::uint64_t place) const;

 private:
  /// Where host memory is made.
  struct Home {
    gpu::Device* device;
    std::optional<std::uint64_t> node;
  };

  GpuLane& lane_of(std::uint64_t place) const { return *lanes_[place / settings_.places]; }

  const GpuSinkSettings settings_;
  const system::Probe& probe_;
  std::vector<Home> homes_;
  std::vector<std::unique_ptr<GpuJpegs>> jpegs_;  ///< by device
  std::vector<std::unique_ptr<GpuLane>> lanes_;   ///< by the job's GPUs
  std::size_t memories_ = 0;
};

}  // namespace shardkit::bench
