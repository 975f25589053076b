#include "image/jpeg_resizer.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_encoder.hpp"
#include "image/resize.hpp"

namespace shardkit::image {
namespace {

constexpr int kQualityStep = 5;
constexpr int kLowestQuality = 10;

/// The header of a JPEG with pixels; empty for all others, which decoding reports.
std::optional<JpegHeader> header_of(Bytes jpeg) {
  const JpegHeaderResult read = read_jpeg_header(jpeg);
  const bool sound = sniff_image(jpeg) == ImageKind::jpeg && read.status == JpegHeaderStatus::ok &&
                     read.header.width > 0 && read.header.height > 0;
  return sound ? std::optional(read.header) : std::nullopt;
}

std::uint32_t shorter_side(const JpegHeader& header) { return std::min(header.width, header.height); }

/// The most that libjpeg may shrink by in the DCT; only these have SIMD code.
unsigned divisor_for(const JpegHeader& header, std::uint32_t shorter) {
  for (const unsigned divisor : {8U, 4U, 2U}) {
    if (shorter_side(header) >= std::uint64_t{divisor} * shorter) return divisor;
  }
  return 1;
}

/// side * shorter / shorter side, rounded half up.
std::uint32_t scaled_side(std::uint32_t side, const JpegHeader& header, std::uint32_t shorter) {
  const std::uint64_t whole = shorter_side(header);
  return static_cast<std::uint32_t>((2 * std::uint64_t{side} * shorter + whole) / (2 * whole));
}

bool shows(const PixelView& pixels, const JpegHeader& header, unsigned divisor) {
  return pixels.width == (header.width + divisor - 1) / divisor &&
         pixels.height == (header.height + divisor - 1) / divisor;
}

}  // namespace

struct JpegResizer::Codec {
  explicit Codec(const ResizeOptions& chosen) : options(chosen), decoder({.keep_gray = true}) {}

  PixelView shrink(const PixelView& pixels, const JpegHeader& header, unsigned divisor) {
    const std::uint32_t width = scaled_side(header.width, header, options.shorter);
    const std::uint32_t height = scaled_side(header.height, header, options.shorter);
    const std::size_t size = std::size_t{width} * height * pixels.channels;
    if (small.size() < size) small.resize(size);
    const std::span<std::uint8_t> target = std::span(small).first(size);
    resizer.resize(pixels, {header.width, header.height, divisor}, width, height, target);
    return {target, width, height, pixels.channels};
  }

  Resized encode(const PixelView& pixels, unsigned orientation, Bytes input, std::size_t most_bytes) {
    EncodeOptions encoding{.quality = options.quality, .orientation = orientation};
    while (true) {
      const Bytes jpeg = encoder.encode(pixels, encoding);
      if (jpeg.size() <= most_bytes) return {.changed = true, .jpeg = jpeg, .message = {}, .quality = encoding.quality};
      if (encoding.optimize) return {.jpeg = input, .message = {}};
      if (encoding.quality <= kLowestQuality) {
        encoding.optimize = true;
      } else {
        encoding.quality = std::max(kLowestQuality, encoding.quality - kQualityStep);
      }
    }
  }

  ResizeOptions options;
  JpegDecoder decoder;
  AntialiasResizer resizer;
  std::vector<std::uint8_t> small;
  JpegEncoder encoder;
};

JpegResizer::JpegResizer(const ResizeOptions& options) : codec_(std::make_unique<Codec>(options)) {
  if (options.shorter == 0) throw usage_error("the shorter side of a resized image is at least 1 pixel");
  if (options.quality < 1 || options.quality > 100) {
    throw usage_error("a JPEG's quality is 1 to 100, not {}", options.quality);
  }
}
JpegResizer::~JpegResizer() = default;

Resized JpegResizer::resize(Bytes jpeg, std::size_t most_bytes) {
  const std::optional<JpegHeader> header = header_of(jpeg);
  if (header && shorter_side(*header) <= codec_->options.shorter) return {.jpeg = jpeg, .message = {}};
  // Without a sound header, decoding is only done to get the error, at the lowest cost.
  const unsigned divisor = header ? divisor_for(*header, codec_->options.shorter) : 8;
  const Decoded decoded = codec_->decoder.decode_shrunk(jpeg, divisor);
  if (decoded.failure != DecodeFailure::none)
    return {.failure = decoded.failure, .jpeg = {}, .message = decoded.message};
  if (!header || !shows(decoded.pixels, *header, divisor)) {
    return {.failure = DecodeFailure::corrupt, .jpeg = {}, .message = "the header contradicts the format"};
  }
  return codec_->encode(codec_->shrink(decoded.pixels, *header, divisor), header->orientation, jpeg, most_bytes);
}

}  // namespace shardkit::image
