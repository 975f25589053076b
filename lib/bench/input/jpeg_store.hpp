#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/input/sample_listing.hpp"
#include "core/bytes.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "image/jpeg_decoder.hpp"

namespace shardkit::bench {

/// The largest --crop, in pixels a side.
inline constexpr std::uint64_t kMostCrop = 8192;

/// How many images went wrong, by kind (image/jpeg_decoder.hpp).
struct DecodeFailures {
  std::uint64_t total = 0;  ///< without those that were only warned of
  std::uint64_t warned = 0;
  std::uint64_t truncated = 0;
  std::uint64_t corrupt = 0;
  std::uint64_t not_jpeg = 0;
  std::uint64_t zero_pixels = 0;
  std::uint64_t too_large = 0;
  std::uint64_t too_many_scans = 0;

  void add(image::DecodeFailure failure);
  void add(const DecodeFailures& other);

  void describe(FieldVisitor& v);
};

/// "2 truncated, 1 not_jpeg": those that gave no pixels, by the names that JSON has; empty without any.
std::string kinds_text(const DecodeFailures& failures);

/// Says of images that cannot be decoded how many of `tried` they are, of which kinds, and what that does to rates.
void warn_of_failures(const DecodeFailures& failures, std::uint64_t tried, Context& context);

/// What the images of a store are, by their headers.
struct ImageMix {
  std::uint64_t jpeg = 0;
  std::uint64_t other_format = 0;
  std::uint64_t progressive = 0;
  std::uint64_t gray = 0;
  std::uint64_t cmyk = 0;
  std::uint64_t rotated = 0;
  double mean_bytes = 0;
  double mean_megapixels = 0;
  double bytes_per_pixel = 0;

  void describe(FieldVisitor& v);
};

/// Compressed images in one piece of memory, so that decoding them touches no disk.
class JpegStore {
 public:
  /// Loads at most `most` images, taken evenly over the input (shards: over at most 16 of them), and no more bytes than
  /// `memory`; says in a warning when that cut the number. Throws Error{not_found} when there are no images.
  JpegStore(const InputSet& input, std::uint64_t most, std::uint64_t memory, Context& context);

  std::size_t size() const { return images_.size(); }
  Bytes image(std::size_t index) const { return images_[index]; }
  const SampleRef& sample(std::size_t index) const { return refs_[index]; }
  /// Pixels by the header; 0 where it cannot be read.
  std::uint64_t pixels(std::size_t index) const { return pixels_[index]; }
  std::uint64_t bytes() const { return bytes_; }
  const ImageMix& mix() const { return mix_; }
  const SampleChoice& choice() const { return choice_; }

 private:
  void load(const InputSet& input, Context& context);
  void look_at_headers();

  std::vector<SampleRef> refs_;
  std::unique_ptr<std::byte[]> memory_;
  std::uint64_t bytes_ = 0;
  std::vector<Bytes> images_;
  std::vector<std::uint64_t> pixels_;
  ImageMix mix_;
  SampleChoice choice_;
};

/// How a GPU decodes an image, and what it needs to know of it.
struct JpegRoute {
  gpu::JpegEngine engine = gpu::JpegEngine::hardware;
  std::uint32_t width = 0;
  std::uint32_t height = 0;

  /// Of its pixels, RGB.
  std::uint64_t bytes() const { return std::uint64_t{width} * height * 3; }
};

/// Empty where the CPU is to decode the image: no engine takes it, or its header is not one that both would read alike
/// (RGB that is stored as such, which Adobe's marker or the components' names tell). Thread-safe.
std::optional<JpegRoute> route_jpeg(gpu::DeviceJpegDecoder& decoder, Bytes jpeg);

}  // namespace shardkit::bench
