#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/input/image_stream.hpp"
#include "bench/input/sample_listing.hpp"
#include "core/bytes.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "gpu/device_jpeg_decoder.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_decoder.hpp"

namespace shardkit::bench {

/// Largest --crop, in pixels per side.
inline constexpr std::uint64_t kMostCrop = 8192;

/// Number of images with problems, by kind (image/jpeg_decoder.hpp).
struct DecodeFailures {
  std::uint64_t total = 0;  ///< without those that only caused a warning
  std::uint64_t warned = 0;
  std::uint64_t truncated = 0;
  std::uint64_t corrupt = 0;
  std::uint64_t not_jpeg = 0;
  std::uint64_t zero_pixels = 0;
  std::uint64_t too_large = 0;
  std::uint64_t too_many_scans = 0;
  std::uint64_t other_format = 0;  ///< intact or not: formats that iobench does not decode

  /// Counts the failure of `image`.
  void add(image::DecodeFailure failure, Bytes image);
  void add(const DecodeFailures& other);

  void describe(FieldList& v);
};

/// "2 truncated, 1 not jpeg, 6 of other formats": images that were left out; empty if there are none.
std::string kinds_text(const DecodeFailures& failures);

/// Warns of images that cannot be decoded: their share of `tried`, their kinds, and the effect on rates. Warns of other
/// formats than JPEG separately, because such files need no repair.
void warn_of_failures(const DecodeFailures& failures, std::uint64_t tried, Context& context);

/// Properties of the images of a store, from their headers.
struct ImageMix {
  std::uint64_t jpeg = 0;
  std::uint64_t png = 0;
  std::uint64_t webp = 0;
  std::uint64_t other_format = 0;
  std::uint64_t progressive = 0;
  std::uint64_t gray = 0;
  std::uint64_t cmyk = 0;
  std::uint64_t rotated = 0;
  double mean_bytes = 0;
  double mean_megapixels = 0;
  double bytes_per_pixel = 0;

  /// The decoded format of most images.
  image::ImageKind most() const;

  void describe(FieldList& v);
};

/// Compressed images in one block of memory, so that decoding does not use the disk.
class JpegStore {
 public:
  /// Loads at most `most` images, evenly distributed over the input (shards: over at most 16 of them), and at most
  /// `memory` bytes. Warns if that reduced the number. If there are compressed shards, loads the first images of each
  /// of at most 16 of them instead. Of slow storage, loads as many as it can until the deadline. Throws
  /// Error{not_found} if there are no images, Error{usage} if none was found before the deadline.
  JpegStore(const InputSet& input, std::uint64_t most, std::uint64_t memory, Context& context,
            const Deadline& deadline = {});

  std::size_t size() const { return images_.size(); }
  Bytes image(std::size_t index) const { return images_[index]; }
  const SampleRef& sample(std::size_t index) const { return refs_[index]; }
  /// Pixels according to the header; 0 if it cannot be read.
  std::uint64_t pixels(std::size_t index) const { return pixels_[index]; }
  std::uint64_t bytes() const { return bytes_; }
  const ImageMix& mix() const { return mix_; }
  const SampleChoice& choice() const { return choice_; }

 private:
  void load_chosen(const InputSet& input, std::uint64_t most, std::uint64_t memory, const Deadline& deadline,
                   Context& context);
  void load(const InputSet& input, const Deadline& deadline, Context& context);
  void unpack(const InputSet& input, std::uint64_t most, std::uint64_t memory, const Deadline& deadline,
              Context& context);
  void keep_loaded();
  void look_at_headers();
  /// Its size; 0 x 0 for a format that is not decoded.
  image::ImageSize count_kind(image::ImageKind kind, Bytes image);

  std::vector<SampleRef> refs_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<SampleBuffer> unpacked_;  ///< memory of the images of compressed shards
  std::uint64_t bytes_ = 0;
  std::vector<Bytes> images_;
  std::vector<std::uint64_t> pixels_;
  ImageMix mix_;
  SampleChoice choice_;
};

/// How a GPU decodes an image, and what it must know of it.
struct JpegRoute {
  gpu::JpegEngine engine = gpu::JpegEngine::hardware;
  std::uint32_t width = 0;
  std::uint32_t height = 0;

  /// Of its pixels, RGB.
  std::uint64_t bytes() const { return std::uint64_t{width} * height * 3; }
};

/// Empty if the CPU must decode the image: no engine supports it, or decoders interpret its header differently (stored
/// RGB, which Adobe's marker or the component names show). Thread-safe.
std::optional<JpegRoute> route_jpeg(gpu::DeviceJpegDecoder& decoder, Bytes jpeg);

}  // namespace shardkit::bench
