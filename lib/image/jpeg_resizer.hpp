#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/bytes.hpp"
#include "image/jpeg_decoder.hpp"

namespace shardkit::image {

struct ResizeOptions {
  std::uint32_t shorter = 256;  ///< new size of the shorter side, in pixels; at least 1
  int quality = 90;             ///< libjpeg's scale, 1 to 100
};

/// Outcome of one JPEG.
struct Resized {
  /// Other than `none`: the image could not be read without errors, and there are no bytes.
  DecodeFailure failure = DecodeFailure::none;
  bool changed = false;  ///< false: `jpeg` is the input
  /// The result. Valid until the resizer's next call, and where unchanged as long as the input.
  Bytes jpeg;
  std::string_view message;  ///< why it failed, with libjpeg's text if there is one; valid until the next call
  int quality = 0;           ///< used for encoding; 0 if unchanged
};

/// Makes JPEGs smaller: JPEG bytes in, baseline JPEG bytes out.
///
/// Size: the shorter side, as stored, becomes exactly `shorter`, the longer one longer * shorter / shorter side,
/// rounded half up. An image whose shorter side is at most `shorter` is never enlarged: its bytes are the result. Only
/// its header is read for that, so damage after the header is not noticed.
///
/// Pixels: libjpeg shrinks by 1/8, 1/4 or 1/2 in the DCT as far as the shorter side stays at least `shorter`, then
/// AntialiasResizer makes the exact size. Gray stays gray; all else becomes YCbCr 4:2:0, with CMYK and YCCK converted
/// as in JpegDecoder.
///
/// Metadata: Exif orientation is not applied to the pixels but kept, if it is not 1, in its own Exif segment, so that
/// readers that use it and readers that do not both see the picture as before. All other metadata (thumbnails, color
/// profiles, comments) is dropped.
///
/// Bytes: never more than the caller allows. If the encoding at `quality` is larger, quality is reduced by 5 at a time,
/// down to 10, and then Huffman tables are made for the image; if that does not fit either, the input is the result.
/// The same input always gives the same bytes (with one version of libjpeg).
///
/// Damage: an image that decodes with any failure or warning is a failure without bytes: a damaged image must not look
/// intact afterwards.
///
/// Use one object per thread and keep it: its buffers grow to the largest image and stay.
class JpegResizer {
 public:
  /// Throws Error{usage} for a shorter side of 0 or an invalid quality.
  explicit JpegResizer(const ResizeOptions& options);
  ~JpegResizer();
  JpegResizer(const JpegResizer&) = delete;
  JpegResizer& operator=(const JpegResizer&) = delete;

  /// Resizes `jpeg`, which must stay valid until the result is used. The result has at most `most_bytes` bytes or is
  /// the input. Never throws because of the image's bytes; only for lack of memory.
  Resized resize(Bytes jpeg, std::size_t most_bytes);

 private:
  struct Codec;
  std::unique_ptr<Codec> codec_;
};

}  // namespace shardkit::image
