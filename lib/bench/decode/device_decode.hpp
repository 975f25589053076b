#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/input/jpeg_store.hpp"
#include "bench/machine/gpu_machine.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "gpu/device.hpp"
#include "gpu/device_jpeg_decoder.hpp"

/// Decoding on a GPU, and comparing its pixels with those of the CPU.
namespace shardkit::bench {

struct DecodeBenchOptions;
struct DecodeResult;

/// An image of a store that will be decoded on a GPU.
struct RoutedJpeg {
  std::size_t index = 0;
  JpegRoute route;
};

/// Images that one engine will decode at once.
struct JpegBatch {
  std::vector<RoutedJpeg> images;
  std::uint64_t bytes = 0;  ///< of memory for their pixels
};

using JpegBatches = std::map<gpu::JpegEngine, JpegBatch>;

/// Images that were decoded at once. Their pixels are valid until the next batch.
struct DecodedBatch {
  gpu::JpegEngine engine = gpu::JpegEngine::hardware;
  std::vector<RoutedJpeg> images;
  std::vector<gpu::DeviceImage> pixels;  ///< one for each of these
  std::vector<std::size_t> returned;     ///< images that could not be decoded, by their number in the store
};

/// Decodes images of a store into a fixed block of GPU memory.
class BatchDecoder {
 public:
  /// Allocates memory for `most_images` of the largest images, but at most a quarter of the free GPU memory, because
  /// nvJPEG itself needs several times as much as the pixels. Warns if batches will be smaller because of that.
  BatchDecoder(const JpegStore& store, gpu::Device& device, gpu::DeviceJpegDecoder& decoder, std::uint64_t most_images,
               Context& context);

  std::uint64_t memory() const { return memory_.span().size; }

  /// Empty if the CPU must decode it, also if the image is larger than the memory. Thread-safe.
  std::optional<JpegRoute> route(std::size_t index) const;

  bool has_room(const JpegBatch& batch, const RoutedJpeg& image) const;
  static void add(JpegBatch& batch, const RoutedJpeg& image);

  /// Writes a pattern over the memory, so that pixels of an earlier batch cannot pass for those of a later one.
  void forget_pixels() { device_.fill_pattern(memory_.span(), kStaleSeed); }

  /// Decodes and empties a batch. One thread at a time.
  DecodedBatch decode(gpu::JpegEngine engine, JpegBatch& batch);

 private:
  static constexpr std::uint64_t kStaleSeed = 0x5eed;

  const JpegStore& store_;
  gpu::Device& device_;
  gpu::DeviceJpegDecoder& decoder_;
  std::uint64_t most_images_;
  gpu::DeviceBuffer memory_;
};

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

/// Compares pixels of a GPU with those of libjpeg-turbo for the same images.
class PixelCheck {
 public:
  /// `name_of` names an image for an error.
  PixelCheck(const JpegStore& store, gpu::Device& device, unsigned threads,
             std::function<std::string(std::size_t index)> name_of, Context& context);

  /// Throws Error{corrupt} with the name of an image if its pixels are wrong.
  void compare(const DecodedBatch& batch);

  PixelComparison result() const;

 private:
  class Comparer;
  std::size_t threads_for(const DecodedBatch& batch) const;
  void note(const RoutedJpeg& image, gpu::JpegEngine engine, double psnr, const std::array<std::uint8_t, 3>& largest,
            bool plain_chroma);

  const JpegStore& store_;
  gpu::Device& device_;
  unsigned threads_;
  std::function<std::string(std::size_t)> name_of_;
  Context& context_;
  std::mutex mutex_;
  std::vector<double> psnr_;
  PixelComparison result_;
};

/// Decodes at most 512 images, evenly distributed, and compares them. Images for the CPU are left out.
void compare_sample(const JpegStore& store, BatchDecoder& batches, PixelCheck& check, Context& context);

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
