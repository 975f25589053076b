#include "image/jpeg_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "core/error.hpp"
#include "image/augment.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_reader.hpp"
#include "image/resize.hpp"

namespace shardkit::image {
namespace {

/// Memory that only grows and is not cleared: clearing would cost as much as resizing a crop.
class PixelBuffer {
 public:
  std::span<std::uint8_t> take(std::size_t size) {
    if (size > size_) {
      bytes_.reset(new std::uint8_t[size]);
      size_ = size;
    }
    return {bytes_.get(), size};
  }

 private:
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t size_ = 0;
};

std::uint8_t scaled(unsigned color, unsigned light) { return static_cast<std::uint8_t>((color * light + 127) / 255); }

/// CMYK without a profile: what the inks leave of the light. Adobe stores the light, others the ink.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::size_t pixels, bool stores_light, std::uint8_t* rgb) {
  const unsigned flip = stores_light ? 0 : 255;
  for (std::size_t i = 0; i < pixels; ++i, cmyk += 4, rgb += kRgbChannels) {
    const unsigned light = cmyk[3] ^ flip;
    for (std::size_t c = 0; c < kRgbChannels; ++c) rgb[c] = scaled(cmyk[c] ^ flip, light);
  }
}

}  // namespace

struct JpegDecoder::Codec {
  /// The rows that a row-by-row read left in `region`, and the position of the wanted box in it.
  struct Region {
    PixelView pixels;
    CropBox box;
  };

  explicit Codec(const DecodeOptions& chosen) : options(chosen), reader(chosen.max_scans) {}

  /// Everything before the first pixel; the outcome if that was a failure.
  std::optional<Decoded> open(Bytes jpeg) {
    const ImageKind kind = sniff_image(jpeg);
    if (kind != ImageKind::jpeg) return Decoded{DecodeFailure::not_jpeg, {}, enum_name(kind)};
    if (!reader.read_header(jpeg)) return failed(reason());
    if (std::uint64_t{reader.image_width()} * reader.image_height() > kMaxPixels)
      return failed(DecodeFailure::too_large);
    return std::nullopt;
  }

  bool read_whole(unsigned scale_divisor, PixelView& pixels) {
    if (!reader.start(scale_divisor, options.keep_gray, options.smooth_chroma)) return false;
    const std::uint32_t width = reader.output_width();
    const std::uint32_t height = reader.output_height();
    const unsigned channels = std::min<unsigned>(reader.output_channels(), kRgbChannels);
    const std::span<std::uint8_t> target = region.take(std::size_t{width} * height * channels);
    pixels = {target, width, height, channels};
    return read_rows(target, width, height) && reader.finish();
  }

  bool read_box(const CropBox& box, Region& result) {
    if (!reader.start(1)) return false;
    // One column more on each side: upsampled chroma looks at its neighbors, and at an edge it makes one up.
    std::uint32_t x = box.x == 0 ? 0 : box.x - 1;
    std::uint32_t width = std::min(box.x + box.width + 1, reader.output_width()) - x;
    if (width < reader.output_width() && !reader.crop_columns(x, width)) return false;
    if (box.y != 0 && !reader.skip_rows(box.y)) return false;
    const std::size_t size = std::size_t{width} * box.height * kRgbChannels;
    const std::span<std::uint8_t> target = region.take(size + BilinearResizer::kReadBeyond).first(size);
    result = {{target, width, box.height}, {box.x - x, 0, box.width, box.height}};
    return read_rows(target, width, box.height);
  }

  bool read_rows(std::span<std::uint8_t> target, std::uint32_t width, std::uint32_t rows) {
    const unsigned channels = reader.output_channels();
    if (channels <= kRgbChannels) return reader.read_rows(target.data(), std::size_t{width} * channels, rows);
    const std::size_t stride = std::size_t{width} * kRgbChannels;
    const std::span<std::uint8_t> line = cmyk.take(std::size_t{width} * 4);
    for (std::uint32_t y = 0; y < rows; ++y) {
      if (!reader.read_rows(line.data(), line.size(), 1)) return false;
      cmyk_to_rgb(line.data(), width, reader.has_adobe_marker(), target.data() + y * stride);
    }
    return true;
  }

  /// Resized to size x size.
  Decoded resize_box(const CropBox& box, std::uint32_t size) {
    Region found;
    if (!read_box(box, found)) return failed(reason());
    const std::span<std::uint8_t> target = crop.take(std::size_t{size} * size * kRgbChannels);
    resizer.resize(found.pixels, found.box, size, size, target);
    return finished({target, size, size});
  }

  /// The failure for libjpeg's error or warning.
  DecodeFailure reason() const {
    const JpegErrors& errors = reader.errors();
    const DecodeFailure error = reader.error();
    if (errors.input_ended && error != DecodeFailure::too_many_scans) return DecodeFailure::truncated;
    if (error != DecodeFailure::none) return error;
    return errors.warned ? DecodeFailure::warned : DecodeFailure::none;
  }

  Decoded failed(DecodeFailure failure) const { return {failure, {}, reader.errors().text}; }

  Decoded finished(const PixelView& pixels) const {
    const DecodeFailure failure = reason();
    const bool usable = failure == DecodeFailure::none || failure == DecodeFailure::warned;
    return {failure, usable ? pixels : PixelView{}, reader.errors().text};
  }

  DecodeOptions options;
  JpegReader reader;
  PixelBuffer region;
  PixelBuffer cmyk;
  PixelBuffer crop;
  BilinearResizer resizer;
};

JpegDecoder::JpegDecoder(const DecodeOptions& options) : codec_(std::make_unique<Codec>(options)) {}
JpegDecoder::~JpegDecoder() = default;

Decoded JpegDecoder::decode(Bytes jpeg) { return decode_shrunk(jpeg, codec_->options.scale_divisor); }

Decoded JpegDecoder::decode_shrunk(Bytes jpeg, unsigned scale_divisor) {
  if (const auto failure = codec_->open(jpeg)) return *failure;
  PixelView pixels;
  if (!codec_->read_whole(scale_divisor, pixels)) return codec_->failed(codec_->reason());
  return codec_->finished(pixels);
}

Decoded JpegDecoder::decode_random_crop(Bytes jpeg, Prng& prng, std::uint32_t size) {
  if (const auto failure = codec_->open(jpeg)) return *failure;
  return codec_->resize_box(draw_resized_crop(codec_->reader.image_width(), codec_->reader.image_height(), prng), size);
}

Decoded JpegDecoder::decode_resized_crop(Bytes jpeg, const CropBox& box, std::uint32_t size) {
  if (const auto failure = codec_->open(jpeg)) return *failure;
  const bool inside =
      box.x + box.width <= codec_->reader.image_width() && box.y + box.height <= codec_->reader.image_height();
  return inside ? codec_->resize_box(box, size) : codec_->failed(DecodeFailure::corrupt);
}

PixelDifference pixel_difference(const PixelView& a, const PixelView& b) {
  if (a.width != b.width || a.height != b.height || a.channels != 3 || b.channels != 3) {
    throw usage_error("RGB images of {} x {} and {} x {} pixels cannot be compared", a.width, a.height, b.width,
                      b.height);
  }
  std::array<int, 3> largest{};
  std::uint64_t squares = 0;
  for (std::size_t i = 0; i < a.bytes.size(); i += 3) {
    for (std::size_t c = 0; c < 3; ++c) {
      const int difference = std::abs(int{a.bytes[i + c]} - int{b.bytes[i + c]});
      largest[c] = std::max(largest[c], difference);
      squares += static_cast<std::uint64_t>(difference * difference);
    }
  }
  PixelDifference result;
  for (std::size_t c = 0; c < 3; ++c) result.largest[c] = static_cast<std::uint8_t>(largest[c]);
  if (squares == 0) return result;
  const double mean = static_cast<double>(squares) / static_cast<double>(a.bytes.size());
  result.psnr_db = std::min(kMostPsnr, 10 * std::log10(255.0 * 255.0 / mean));
  return result;
}

}  // namespace shardkit::image
