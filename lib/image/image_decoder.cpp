#include "image/image_decoder.hpp"

#include <algorithm>
#include <span>

#include <png.h>
#include <webp/decode.h>

#include "image/augment.hpp"
#include "image/pixel_check.hpp"

namespace shardkit::image {
namespace {

/// Decoded with libpng or libwebp, always as a whole.
bool is_whole_only(ImageKind kind) { return kind == ImageKind::png || kind == ImageKind::webp; }

/// libpng's simplified reader: 8 bits, RGB. It catches libpng's errors itself.
bool decode_png(Bytes file, const ImageSize& size, std::span<std::uint8_t> target) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, file.data(), file.size()) == 0) return false;
  png.format = PNG_FORMAT_RGB;
  const png_color black{};  // what is behind transparent pixels
  const bool is_as_announced = png.width == size.width && png.height == size.height;
  const bool read = is_as_announced && png_image_finish_read(&png, &black, target.data(), 0, nullptr) != 0;
  png_image_free(&png);
  return read;
}

bool decode_webp(Bytes file, const ImageSize& size, std::span<std::uint8_t> target) {
  const int stride = static_cast<int>(size.width * kRgbChannels);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(file.data());
  return WebPDecodeRGBInto(bytes, file.size(), target.data(), target.size(), stride) != nullptr;
}

}  // namespace

bool is_decoded(ImageKind kind) { return kind == ImageKind::jpeg || is_whole_only(kind); }

Decoded ImageDecoder::decode(Bytes image) {
  const ImageKind kind = sniff_image(image);
  return is_whole_only(kind) ? decode_other(image, kind) : jpeg_.decode(image);
}

Decoded ImageDecoder::decode_random_crop(Bytes image, Prng& prng, std::uint32_t size) {
  const ImageKind kind = sniff_image(image);
  if (!is_whole_only(kind)) return jpeg_.decode_random_crop(image, prng, size);
  const Decoded whole = decode_other(image, kind);
  if (!whole.has_pixels()) return whole;
  return resized(whole, draw_resized_crop(whole.pixels.width, whole.pixels.height, prng), size);
}

Decoded ImageDecoder::decode_resized_crop(Bytes image, const CropBox& box, std::uint32_t size) {
  const ImageKind kind = sniff_image(image);
  if (!is_whole_only(kind)) return jpeg_.decode_resized_crop(image, box, size);
  const Decoded whole = decode_other(image, kind);
  if (!whole.has_pixels()) return whole;
  const bool inside = box.x + box.width <= whole.pixels.width && box.y + box.height <= whole.pixels.height;
  return inside ? resized(whole, box, size) : Decoded{DecodeFailure::corrupt, {}, {}};
}

Decoded ImageDecoder::decode_other(Bytes image, ImageKind kind) {
  const auto size = image_size(image);
  if (!size) return {DecodeFailure::truncated, {}, {}};
  if (size->width == 0 || size->height == 0) return {DecodeFailure::zero_pixels, {}, {}};
  if (std::uint64_t{size->width} * size->height > kMaxPixels) return {DecodeFailure::too_large, {}, {}};
  const std::size_t bytes = std::size_t{size->width} * size->height * kRgbChannels;
  pixels_.resize(std::max(pixels_.size(), bytes + BilinearResizer::kReadBeyond));
  const std::span<std::uint8_t> target = std::span(pixels_).first(bytes);
  const bool is_png = kind == ImageKind::png;
  if (is_png ? decode_png(image, *size, target) : decode_webp(image, *size, target)) {
    return {DecodeFailure::none, {target, size->width, size->height}, {}};
  }
  PixelVerdict verdict = check_pixels(image);
  if (verdict.failure == DecodeFailure::none) return {DecodeFailure::not_jpeg, {}, {}};  // such as an animation
  message_ = std::move(verdict.message);
  const bool is_failure = verdict.failure != DecodeFailure::warned;
  return {is_failure ? verdict.failure : DecodeFailure::corrupt, {}, message_};
}

Decoded ImageDecoder::resized(const Decoded& whole, const CropBox& box, std::uint32_t size) {
  crop_.resize(std::size_t{size} * size * kRgbChannels);
  resizer_.resize(whole.pixels, box, size, size, crop_);
  return {whole.failure, {crop_, size, size}, {}};
}

}  // namespace shardkit::image
