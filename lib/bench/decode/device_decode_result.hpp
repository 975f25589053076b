#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/decode/pixel_check.hpp"
#include "core/fields.hpp"

namespace shardkit {

/// Who turned an image into pixels: the engines of a GPU (gpu/device_jpeg_decoder.hpp), in their order, or the CPU.
enum class DecodePath { hardware, hybrid, gpu_hybrid, cpu };
template <>
struct EnumNames<DecodePath> {
  static constexpr std::array<std::string_view, 4> names{"hardware", "hybrid", "gpu-hybrid", "cpu"};
};

struct DecodeShare {
  DecodePath path = DecodePath::hardware;
  std::uint64_t samples = 0;
  double share = 0;

  void describe(FieldVisitor& v);
};

/// What decoding with nvJPEG adds to a result.
struct DeviceDecodeResult {
  std::uint64_t device = 0;
  std::string name;
  std::string library;
  bool hardware = false;
  std::optional<std::uint64_t> hardware_engines;
  std::uint64_t batch = 0;
  std::uint64_t memory = 0;  ///< of the GPU, bytes
  std::vector<DecodeShare> paths;
  std::uint64_t refused = 0;
  std::uint64_t returned = 0;
  PixelComparison pixels;

  void describe(FieldVisitor& v);
};

}  // namespace shardkit
