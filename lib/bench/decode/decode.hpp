#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/decode/device_decode.hpp"
#include "bench/input/jpeg_store.hpp"
#include "bench/machine/neighbors.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "image/tensor_type.hpp"

/// `iobench decode`: how many images per second the CPU or a GPU decodes, and augmenting as a separate stage.
namespace shardkit::bench {

enum class Augmentation {
  none,
  imagenet,  ///< flip every second crop, normalize with ImageNet's mean and deviation
};
constexpr auto enum_names(Augmentation) { return std::to_array<std::string_view>({"none", "imagenet"}); }

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

/// The decoder: libjpeg-turbo on the CPU, or nvJPEG on a GPU (docs/explain/gpu.md).
enum class DecodeBackend { cpu, nvjpeg };
constexpr auto enum_names(DecodeBackend) { return std::to_array<std::string_view>({"cpu", "nvjpeg"}); }

struct DecodeBenchOptions {
  std::vector<std::string> paths;
  DecodeBackend backend = DecodeBackend::cpu;
  std::optional<std::uint64_t> threads;
  std::uint64_t samples = 2000;
  std::optional<std::uint64_t> crop;
  Augmentation augment = Augmentation::none;
  image::TensorType dtype = image::TensorType::f32;
  double min_seconds = 2;
  bool scaling = false;
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
