#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/decode/augment_run.hpp"
#include "bench/decode/device_decode.hpp"
#include "bench/input/decode_failures.hpp"
#include "bench/input/jpeg_store.hpp"
#include "bench/requirement/requirement.hpp"
#include "bench/timing/timed_run.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"

/// `iobench decode`: how many images a second the cores, or a GPU, turn into pixels.
///
/// What results of both backends have in common.
namespace shardkit::bench {

/// The largest --crop, in pixels a side.
inline constexpr std::uint64_t kMostCrop = 8192;

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
  /// Set by `run`, not on the command line: stop after this time, though not every image was decoded yet.
  std::optional<double> most_seconds;
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
/// the images that failed.
DecodeResult decode(const DecodeBenchOptions& options, const InputSet& input, Context& context);

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
void check_decode_options(const DecodeBenchOptions& options, std::uint64_t threads);

}  // namespace shardkit::bench
