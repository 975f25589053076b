#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/input/jpeg_store.hpp"
#include "bench/machine/neighbors.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "image/tensor_type.hpp"

/// `iobench decode`: how many images per second the CPU or a GPU decodes, and augmenting as a separate stage.
namespace shardkit::bench {

enum class Augmentation {
  none,
  imagenet,  ///< flip every second crop, normalize with ImageNet's mean and deviation
};
constexpr auto enum_names(Augmentation) { return std::to_array<std::string_view>({"none", "imagenet"}); }

struct DecodeBenchOptions;
struct DecodeResult;

struct AugmentResult {
  image::TensorType dtype = image::TensorType::f32;
  std::uint64_t crops = 0;
  std::uint64_t augmented = 0;
  double augment_seconds = 0;
  double cpu_seconds = 0;
  double samples_per_second = 0;
  std::optional<stats::Interval> samples_per_second_interval;
  std::optional<bool> steady;  ///< empty: the run was too short to find out
  double samples_per_second_per_core = 0;
  double bytes_per_second = 0;  ///< of tensors written
  std::vector<CoresNeeded> cores_needed;

  void describe(FieldList& v);
};

/// Throws Error{no_space} if the tensors need more than the available memory. For options with crop and threads.
void check_augment(const DecodeBenchOptions& options);

/// Decodes at most 256 random crops of the store's images. Then augments them repeatedly, each thread into its own
/// batch tensors of up to 16 samples, for at least `min_seconds` and at least once each. Throws the errors of
/// check_augment(), and Error{corrupt} if no image can be decoded.
AugmentResult measure_augment(const JpegStore& store, const DecodeBenchOptions& options, Context& context);

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

/// What decoding on a GPU uses. Borrowed.
struct DecodeMachine {
  std::vector<gpu::Device*> devices;
  std::function<std::unique_ptr<gpu::DeviceJpegDecoder>(const gpu::Device&, unsigned threads)> open_decoder;
};

/// decode() with --backend nvjpeg: compares pixels with libjpeg-turbo's, then decodes in batches repeatedly. CPU
/// threads decode the images that nvJPEG does not support. Throws Error{corrupt} with the name of an image whose pixels
/// are wrong, Error{no_space} if there is not enough GPU memory, and the errors of decode().
DecodeResult decode_on_device(const DecodeBenchOptions& options, const InputSet& input, const DecodeMachine& machine,
                              Context& context);

/// The decoder: libjpeg-turbo on the CPU, or nvJPEG on a GPU (docs/explain/gpu.md).
enum class DecodeBackend { cpu, nvjpeg };
constexpr auto enum_names(DecodeBackend) { return std::to_array<std::string_view>({"cpu", "nvjpeg"}); }

struct DecodeBenchOptions {
  std::vector<std::string> paths;
  DecodeBackend backend = DecodeBackend::cpu;
  std::optional<std::uint64_t> threads;
  std::uint64_t samples = 2000;
  std::optional<std::uint64_t> crop;
  std::uint64_t scale = 1;
  Augmentation augment = Augmentation::none;
  image::TensorType dtype = image::TensorType::f32;
  double min_seconds = 2;
  bool scaling = false;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> batch;   ///< with nvJPEG
  std::optional<std::uint64_t> device;  ///< with nvJPEG
  catalog::StoreAccess access = {};

  void describe(FieldList& v);
};

/// The same work with another number of threads.
struct ScalingRow {
  std::uint64_t threads = 0;
  double samples_per_second = 0;
  double speedup = 0;           ///< relative to one thread
  double efficiency_ratio = 0;  ///< speedup divided by threads

  void describe(FieldList& v);
};

struct DecodeResult {
  DecodeBackend backend = DecodeBackend::cpu;
  std::optional<std::uint64_t> crop;
  std::uint64_t scale = 1;
  std::uint64_t threads = 0;
  std::uint64_t images = 0;
  std::uint64_t decoded = 0;
  double decode_seconds = 0;
  double cpu_seconds = 0;
  double cpu_seconds_per_sample = 0;
  double samples_per_second = 0;
  std::optional<stats::Interval> samples_per_second_interval;
  std::optional<bool> steady;                         ///< empty: the run was too short to find out
  std::optional<double> samples_per_second_per_core;  ///< absent if a GPU decoded
  double megapixels_per_second = 0;
  double bytes_per_second = 0;
  ImageMix mix;
  SampleChoice samples_used;
  DecodeFailures failures;  ///< each image counts once
  std::vector<ScalingRow> scaling;
  std::vector<CoresNeeded> cores_needed;
  std::optional<AugmentResult> augment;
  std::optional<DeviceDecodeResult> nvjpeg;
  Neighbors neighbors;       ///< while it was measured
  bool interrupted = false;  ///< then the rates are those until the stop

  /// Images that were tried, each counted once.
  std::uint64_t tried() const;

  void describe(FieldList& v);
};

/// Loads images into memory, then decodes them repeatedly for at least --min-time and at least once each. Writes
/// nothing. Throws Error{not_found} without images, Error{corrupt} if none can be decoded or the GPU's pixels are
/// wrong, Error{unsupported} if nvJPEG is requested but it, CUDA or a GPU is missing.
DecodeResult decode(const DecodeBenchOptions& options, Context& context);
/// The same on the CPU for an existing input; options.paths is ignored. The caller warns of images that failed.
/// Decoding ends after `most_seconds`, even if not every image was decoded. Loading ends at its deadline (JpegStore).
DecodeResult decode(const DecodeBenchOptions& options, const InputSet& input, Context& context,
                    const std::optional<double>& most_seconds = {}, const Deadline& loading = {});

/// Results of one thread or one engine. On a cache line of its own.
struct alignas(64) DecodeTally {
  std::uint64_t images = 0;
  std::uint64_t bytes = 0;   ///< compressed
  std::uint64_t pixels = 0;  ///< of the whole images

  void add(const JpegStore& store, std::size_t index) {
    ++images;
    bytes += store.image(index).size();
    pixels += store.pixels(index);
  }
  void add(const DecodeTally& other) {
    images += other.images;
    bytes += other.bytes;
    pixels += other.pixels;
  }
};

/// A result with the description of its images.
DecodeResult result_of(const JpegStore& store);

/// Rates and times.
void add_measurement(const Timing& timing, std::span<const DecodeTally> tallies, DecodeResult& result);

/// Throws Error{corrupt} if all tried images failed, Error{unsupported} if all have another format than JPEG.
void add_failures(const DecodeFailures& failures, std::uint64_t tried, const InputSet& input, DecodeResult& result);

std::uint64_t decode_threads(const DecodeBenchOptions& options);

/// Throws Error{usage} that names the option.
void check_decode_options(const DecodeBenchOptions& options);

}  // namespace shardkit::bench
