#pragma once

#include <cstdint>
#include <string>

#include "core/bytes.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_decoder.hpp"

/// Whether an image decodes, of the kinds whose pixels nothing here uses: PNG by libpng, WebP by libwebp.
namespace shardkit::image {

/// Images of more pixels than Pillow opens are refused before memory is taken: 2 * 89,478,485.
inline constexpr std::uint64_t kMostCheckedPixels = 178'956'970;

/// What became of one image, without its pixels.
struct PixelVerdict {
  DecodeFailure failure = DecodeFailure::none;  ///< none, truncated, corrupt or too_large
  std::string message;                          ///< the library's words where it had any
};

/// Whether a decoder here knows the kind: JPEG (JpegDecoder), and what check_pixels() takes.
bool has_decoder(ImageKind kind);

/// Decodes a PNG or WebP to its last row and keeps no pixel; of an animation the first frame, which is the one that
/// loaders take. Other kinds are DecodeFailure::none. A PNG takes memory for two rows, a lossy WebP for some rows, a
/// lossless one 4 bytes a pixel. Never throws because of an image's bytes; thread-safe.
PixelVerdict check_pixels(Bytes image);

}  // namespace shardkit::image
