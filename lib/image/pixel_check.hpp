#pragma once

#include <cstdint>
#include <string>

#include "core/bytes.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_decoder.hpp"

/// Whether an image can be decoded, for formats whose pixels are not used: PNG with libpng, WebP with libwebp.
namespace shardkit::image {

/// Images with more pixels than Pillow opens are refused before memory is allocated: 2 * 89,478,485.
inline constexpr std::uint64_t kMostCheckedPixels = 178'956'970;

/// Outcome of one image, without its pixels.
struct PixelVerdict {
  DecodeFailure failure = DecodeFailure::none;  ///< none, truncated, corrupt or too_large
  std::string message;                          ///< the library's message if there is one
};

/// Whether there is a decoder for the kind: JPEG (JpegDecoder), and those of check_pixels().
bool has_decoder(ImageKind kind);

/// Decodes a PNG or WebP to its last row without keeping pixels; of an animation the first frame, which is the one that
/// loaders use. Other kinds are DecodeFailure::none. A PNG needs memory for two rows, a lossy WebP for some rows, a
/// lossless one 4 bytes per pixel. Never throws because of an image's bytes; thread-safe.
PixelVerdict check_pixels(Bytes image);

}  // namespace shardkit::image
