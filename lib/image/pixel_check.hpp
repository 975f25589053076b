#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "image/image_header.hpp"
#include "image/image_structure.hpp"
#include "image/jpeg_decoder.hpp"
#include "image/jpeg_reader.hpp"

/// Whether readers can decode an image, for those who do not use its pixels. The measure is Pillow, with which
/// webdataset and torchvision's ImageFolder read: what it refuses is a failure, what only others refuse is `warned`.
namespace shardkit::image {

/// Outcome of one image, without its pixels.
struct PixelVerdict {
  DecodeFailure failure = DecodeFailure::none;
  std::string message;  ///< the details if there are some
};

/// Whether the pixels of the kind are looked at: by check_pixels(), PixelChecker or header_problem().
bool has_decoder(ImageKind kind);

/// Decodes a PNG or WebP to its last row without keeping pixels; of an animation the first frame, which is the one that
/// loaders use. Other kinds are DecodeFailure::none. A PNG needs memory for two rows, a lossy WebP for some rows, a
/// lossless one 4 bytes per pixel. Never throws because of an image's bytes; thread-safe.
PixelVerdict check_pixels(Bytes image);

/// check_pixels(), and for JPEGs libjpeg, which stops at the last byte. One thread at a time.
class PixelChecker {
 public:
  PixelVerdict check(Bytes image);

 private:
  PixelVerdict check_jpeg(Bytes image);

  JpegReader reader_{DecodeOptions{}.max_scans, JpegReader::BehindEnd::stop};
  std::vector<std::uint8_t> rows_;
};

}  // namespace shardkit::image
