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
#include "bench/requirement/requirement.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "image/tensor_type.hpp"

/// `iobench decode`: how many images a second the cores, or a GPU, turn into pixels; and augmenting as a stage of its
/// own.
namespace shardkit::bench {

enum class Augmentation {
  none,
  imagenet,  ///< flip one in two, normalise with ImageNet's mean and deviation
};
constexpr auto enum_names(Augmentation) { return std::to_array<std::string_view>({"none", "imagenet"}); }

struct DecodeBenchOptions;
struct DecodeResult;

struct AugmentResult {
  image::TensorType dtype = image::TensorType::f32;
  image::TensorLayout layout = image::TensorLayout::nchw;
  std::uint64_t crops = 0;
  std::uint64_t augmented = 0;
  double augment_seconds = 0;
  double cpu_seconds = 0;
  double samples_per_second = 0;
  std::optional<RateInterval> samples_per_second_interval;
  std::optional<bool> steady;  ///< empty: too short to tell
  double samples_per_second_per_core = 0;
  double bytes_per_second = 0;  ///< of tensors written
  std::vector<CoresNeeded> cores_needed;

  void describe(FieldVisitor& v);
};

/// Throws Error{no_space} when the tensors take more memory than may be used. Of options with crop and threads.
void check_augment(const DecodeBenchOptions& options);

/// Decodes at most 256 random crops of the store's images, then augments them in turn, each thread into batch tensors
/// of its own of up to 16 samples, for at least `min_seconds` and at least once each. Throws what
/// check_augment() throws, and Error{corrupt} when no image decodes.
AugmentResult measure_augment(const JpegStore& store, const DecodeBenchOptions& options, Context& context);

/// An image of a store, on its way to a GPU.
struct RoutedJpeg {
  std::size_t index = 0;
  JpegRoute route;
};

/// Images that one engine is to decode at once.
struct JpegBatch {
  std::vector<RoutedJpeg> images;
  std::uint64_t bytes = 0;  ///< of memory for their pixels
};

using JpegBatches = std::map<gpu::JpegEngine, JpegBatch>;

/// Images that were decoded at once: their pixels stay until the next batch.
struct DecodedBatch {
  gpu::JpegEngine engine = gpu::JpegEngine::hardware;
  std::vector<RoutedJpeg> images;
  std::vector<gpu::DeviceImage> pixels;  ///< one for each of these
  std::vector<std::size_t> returned;     ///< images that did not decode, by their number in the store
};

/// Decodes images of a store into one piece of a GPU's memory, which no batch outgrows.
class BatchDecoder {
 public:
  /// Takes memory for `most_images` of the largest images, or a quarter of what is free on the GPU where that is less:
  /// nvJPEG itself needs several times as much as the pixels. Says in a warning when batches will be smaller for that.
  BatchDecoder(const JpegStore& store, gpu::Device& device, gpu::DeviceJpegDecoder& decoder, std::uint64_t most_images,
               Context& context);

  std::uint64_t memory() const { return memory_.span().size; }

  /// Empty where the CPU is to decode it, as also an image that is larger than the memory. Thread-safe.
  std::optional<JpegRoute> route(std::size_t index) const;

  bool has_room(const JpegBatch& batch, const RoutedJpeg& image) const;
  static void add(JpegBatch& batch, const RoutedJpeg& image);

  /// Writes a pattern over the memory: what an earlier batch left there must not pass for a later one's pixels.
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

/// Pixels that are nearer to libjpeg-turbo's than this are right. Sound decoders differ by rounding, and by how they
/// make subsampled chroma large again; wrong ones have colours in another order, a shift, another image's pixels.
/// docs/gpu.md has what either comes to on photographs.
inline constexpr double kLeastPsnr = 30;

/// A GPU's pixels held against libjpeg-turbo's.
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

  void describe(FieldVisitor& v);
};

/// Compares what a GPU decoded with what libjpeg-turbo makes of the same images.
class PixelCheck {
 public:
  /// `name_of` names an image for an error.
  PixelCheck(const JpegStore& store, gpu::Device& device, unsigned threads,
             std::function<std::string(std::size_t index)> name_of, Context& context);

  /// Throws Error{corrupt} that names an image whose pixels are wrong.
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

/// Decodes images that are taken evenly, 512 at most, and compares them. Those that the CPU has to decode are left out.
void compare_sample(const JpegStore& store, BatchDecoder& batches, PixelCheck& check, Context& context);

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

/// What decodes: libjpeg-turbo on the CPU, or nvJPEG on a GPU (docs/gpu.md).
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
  image::TensorLayout layout = image::TensorLayout::nchw;
  double min_seconds = 2;
  bool scaling = false;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> batch;   ///< with nvJPEG
  std::optional<std::uint64_t> device;  ///< with nvJPEG
  catalog::StoreAccess access = {};

  void describe(FieldVisitor& v);
};

/// The same work on some number of threads.
struct ScalingRow {
  std::uint64_t threads = 0;
  double samples_per_second = 0;
  double speedup = 0;           ///< against one thread
  double efficiency_ratio = 0;  ///< speedup over threads

  void describe(FieldVisitor& v);
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
  std::optional<RateInterval> samples_per_second_interval;
  std::optional<bool> steady;                         ///< empty: too short to tell
  std::optional<double> samples_per_second_per_core;  ///< none where a GPU decoded
  double megapixels_per_second = 0;
  double bytes_per_second = 0;
  ImageMix mix;
  SampleChoice samples_used;
  DecodeFailures failures;  ///< each image counts once
  std::vector<ScalingRow> scaling;
  std::vector<CoresNeeded> cores_needed;
  std::optional<AugmentResult> augment;
  std::optional<DeviceDecodeResult> nvjpeg;

  /// Images that had their turn, each counted once.
  std::uint64_t tried() const;

  void describe(FieldVisitor& v);
};

/// Loads images into memory, then decodes them over and over for at least --min-seconds and at least once each. Writes
/// nothing. Throws Error{not_found} without images, Error{corrupt} when not one of them can be decoded or the GPU's
/// pixels are wrong, Error{unsupported} when nvJPEG is asked for and it, CUDA or a GPU is missing.
DecodeResult decode(const DecodeBenchOptions& options, Context& context);
/// The same, on the CPU, over an input that was found already; options.paths is not looked at. Who calls it warns of
/// the images that failed. Decoding ends after `most_seconds`, though not every image was decoded yet.
DecodeResult decode(const DecodeBenchOptions& options, const InputSet& input, Context& context,
                    const std::optional<double>& most_seconds = {});

/// What one thread, or one engine, decoded. On a cache line of its own.
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

/// A result that says which images it is about.
DecodeResult result_of(const JpegStore& store);

/// Rates and times.
void add_measurement(const Timing& timing, std::span<const DecodeTally> tallies, DecodeResult& result);

/// Throws Error{corrupt} when all images failed that had their turn.
void add_failures(const DecodeFailures& failures, std::uint64_t tried, const InputSet& input, DecodeResult& result);

/// Warns where decoding on the CPU had clearly less of `cores` than its threads could use: other work took the rest,
/// and rates and scaling are of what was left.
void warn_of_shared_cores(const DecodeResult& result, double cores, Context& context);

std::uint64_t decode_threads(const DecodeBenchOptions& options);

/// Throws Error{usage} that names the option.
void check_decode_options(const DecodeBenchOptions& options);

}  // namespace shardkit::bench
