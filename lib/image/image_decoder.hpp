#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "core/prng.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_decoder.hpp"
#include "image/resize.hpp"

namespace shardkit::image {

/// Whether ImageDecoder decodes the kind: JPEG, PNG and WebP.
bool is_decoded(ImageKind kind);

/// Decodes JPEGs (JpegDecoder) and, with libpng and libwebp, PNG and still WebP images to RGB, without transparency.
/// Those two have no part of an image that can be decoded alone, so a crop costs as much as the whole image. Use one
/// object per thread and keep it. Never throws because of an image's bytes; only for lack of memory.
class ImageDecoder {
 public:
  /// The whole image.
  Decoded decode(Bytes image);
  /// RandomResizedCrop, as in JpegDecoder.
  Decoded decode_random_crop(Bytes image, Prng& prng, std::uint32_t size = 224);
  /// The same for a given box, as in JpegDecoder.
  Decoded decode_resized_crop(Bytes image, const CropBox& box, std::uint32_t size = 224);

 private:
  /// A PNG or WebP.
  Decoded decode_other(Bytes image, ImageKind kind);
  Decoded resized(const Decoded& whole, const CropBox& box, std::uint32_t size);

  JpegDecoder jpeg_;
  std::vector<std::uint8_t> pixels_;  ///< grows to the largest image
  std::vector<std::uint8_t> crop_;
  BilinearResizer resizer_;
  std::string message_;
};

}  // namespace shardkit::image
