#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/decode/batch_decoder.hpp"
#include "core/fields.hpp"
#include "gpu/device_jpeg_decoder.hpp"

namespace shardkit::bench {

struct DecodeBenchOptions;
struct DecodeResult;

/// Who turned an image into pixels: the engines of a GPU (gpu/device_jpeg_decoder.hpp), in their order, or the CPU.
enum class DecodePath { hardware, hybrid, gpu_hybrid, cpu };
constexpr auto enum_names(DecodePath) {
  return std::to_array<std::string_view>({"hardware", "hybrid", "gpu-hybrid", "cpu"});
}

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

/// What decoding on a GPU works with. Borrowed.
struct DecodeMachine {
  std::vector<gpu::Device*> devices;
  std::function<std::unique_ptr<gpu::DeviceJpegDecoder>(const gpu::Device&, unsigned threads)> open_decoder;
};

/// decode() with --backend nvjpeg: compares pixels with libjpeg-turbo's, then decodes in batches over and over; what
/// the GPU does not take is decoded by threads of the CPU meanwhile. Throws Error{corrupt} that names an image whose
/// pixels are wrong, Error{no_space} where memory of the GPU is short, and what decode() throws.
DecodeResult decode_on_device(const DecodeBenchOptions& options, const InputSet& input, const DecodeMachine& machine,
                              Context& context);

}  // namespace shardkit::bench
