#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "bench/pipeline/loader/hand_over.hpp"
#include "bench/pipeline/samples/sample_flow.hpp"
#include "core/fields.hpp"
#include "image/tensor_type.hpp"

namespace shardkit {

/// How images become pixels.
enum class DecodeKind {
  cpu,
  null,   ///< not at all: samples of a batch stay as they were
  nvjpeg  ///< by the GPU that takes the batch, but those that no engine of it takes
};
template <>
struct EnumNames<DecodeKind> {
  static constexpr std::array<std::string_view, 3> names{"cpu", "null", "nvjpeg"};
};

struct LoaderSettings {
  std::uint64_t gpus = 1;
  std::uint64_t batch = 256;   ///< samples a GPU and step
  std::uint64_t prefetch = 2;  ///< batches a GPU that are made ahead of the step; 0: only while it waits
  unsigned readers = 1;
  unsigned workers = 1;
  DecodeKind decode = DecodeKind::cpu;
  std::uint32_t crop = 224;
  TensorType type = TensorType::f32;
  TensorLayout layout = TensorLayout::nchw;
  SampleForm form = SampleForm::tensor;
  DeviceJpegDecoder* jpegs = nullptr;     ///< says which images engines take; for DecodeKind::nvjpeg
  std::uint64_t largest_device_jpeg = 0;  ///< bytes of pixels: larger images are the CPU's
  bool drop_last = false;
  std::uint64_t seed = 0;
  FlowLimits flow;
};

/// Batches of all GPUs whose memory is in use at once.
std::uint64_t batches_in_memory(const LoaderSettings& settings);

/// Of host memory that a sample takes in its batch.
std::uint64_t sample_bytes(const LoaderSettings& settings);

}  // namespace shardkit
