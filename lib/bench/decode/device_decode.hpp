#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/input/input_files.hpp"
#include "bench/machine/gpu_machine.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

/// Decoding on a GPU, and comparing its pixels with those of the CPU.
namespace shardkit::bench {

struct DecodeBenchOptions;
struct DecodeResult;

/// Pixels with a higher ratio are right. Correct decoders differ by rounding and by the upsampling of chroma. Wrong
/// ones have swapped colors, a shift, or pixels of another image. docs/explain/gpu.md has the values for photographs.
inline constexpr double kLeastPsnr = 30;

/// Comparison of a GPU's pixels with libjpeg-turbo's.
struct PixelComparison {
  std::uint64_t compared = 0;
  std::uint64_t damaged = 0;
  std::uint64_t plain_chroma = 0;
  double least_allowed_psnr = kLeastPsnr;
  std::optional<double> min_psnr;
  std::optional<double> median_psnr;
  std::uint64_t max_difference_red = 0;
  std::uint64_t max_difference_green = 0;
  std::uint64_t max_difference_blue = 0;

  void describe(FieldList& v);
};

/// The decoder of an image: an engine of the GPU (gpu/device_jpeg_decoder.hpp), in their order, or the CPU.
enum class DecodePath { hardware, hybrid, gpu_hybrid, cpu };
constexpr auto enum_names(DecodePath) {
  return std::to_array<std::string_view>({"hardware", "hybrid", "gpu-hybrid", "cpu"});
}

struct DecodeShare {
  DecodePath path = DecodePath::hardware;
  std::uint64_t samples = 0;
  double share = 0;

  void describe(FieldList& v);
};

/// Additional results of decoding with nvJPEG.
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

  void describe(FieldList& v);
};

/// decode() with --backend nvjpeg: compares pixels with libjpeg-turbo's, then decodes in batches repeatedly. CPU
/// threads decode the images that nvJPEG does not support. Throws Error{corrupt} with the name of an image whose pixels
/// are wrong, Error{no_space} if there is not enough GPU memory, and the errors of decode().
DecodeResult decode_on_device(const DecodeBenchOptions& options, const InputSet& input, const GpuMachine& machine,
                              Context& context);

}  // namespace shardkit::bench
