#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/input/jpeg_store.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "gpu/device_jpeg_decoder.hpp"

namespace shardkit::bench {

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

/// A batch for each engine.
class JpegBatches {
 public:
  JpegBatch& operator[](gpu::JpegEngine engine) { return batches_.at(static_cast<std::size_t>(engine)); }

 private:
  std::array<JpegBatch, gpu::kJpegEngines.size()> batches_;
};

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

}  // namespace shardkit::bench
