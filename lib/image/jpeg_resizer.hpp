#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/bytes.hpp"
#include "image/jpeg_decoder.hpp"

namespace shardkit::image {

struct ResizeOptions {
  std::uint32_t shorter = 256;  ///< what the shorter side becomes, in pixels; at least 1
  int quality = 90;             ///< libjpeg's scale, 1 to 100
};

/// What became of one JPEG.
struct Resized {
  /// Other than `none`: the image could not be read soundly, and there are no bytes.
  DecodeFailure failure = DecodeFailure::none;
  bool changed = false;  ///< false: `jpeg` is the input
  /// The result. Valid until the resizer's next call, and where unchanged as long as the input.
  Bytes jpeg;
  std::string_view message;  ///< why it failed, in libjpeg's words where it had any; valid until the next call
  int quality = 0;           ///< with which it was encoded; 0 unless changed
};

/// Makes JPEGs smaller: JPEG bytes in, baseline JPEG bytes out.
///
/// Size: the shorter side, as stored, becomes exactly `shorter`, the longer one longer * shorter / shorter side,
/// rounded half up. An image whose shorter side is at most `shorter` is never enlarged: its bytes are the result, by
/// its header alone; nothing of it is decoded, so damage behind the header stays unnoticed.
///
/// Pixels: libjpeg shrinks by 1/8, 1/4 or 1/2 in the DCT as far as the shorter side stays at least `shorter`, then
/// AntialiasResizer makes the exact size. Gray stays gray; all else becomes YCbCr 4:2:0, CMYK and YCCK as JpegDecoder
/// converts them.
///
/// Metadata: Exif orientation is not applied to the pixels but carried over, where it is not 1, in an Exif segment of
/// its own, so that readers that honour it and readers that do not both see the picture as before. All other metadata
/// (thumbnails, colour profiles, comments) is dropped.
///
/// Bytes: never more than the caller allows. Where the encoding at `quality` is larger, quality falls by 5 a time, down
/// to 10, and then Huffman tables are made for the image; where that does not fit either, the input is the result.
/// The same input always gives the same bytes (with one version of libjpeg).
///
/// Damage: an image that decodes with any failure, a warning too, is a failure without bytes: a damaged image must not
/// come out sound.
///
/// Use one object per thread and keep it: its buffers grow to the largest image and stay.
class JpegResizer {
 public:
  /// Throws Error{usage} for a shorter side of 0 or a quality that libjpeg does not have.
  explicit JpegResizer(const ResizeOptions& options);
  ~JpegResizer();
  JpegResizer(const JpegResizer&) = delete;
  JpegResizer& operator=(const JpegResizer&) = delete;

  /// Resizes `jpeg`, which must stay until the result is used. The result has at most `most_bytes` bytes or is the
  /// input. Never throws because of the image's bytes; only for lack of memory.
  Resized resize(Bytes jpeg, std::size_t most_bytes);

 private:
  struct Codec;
  std::unique_ptr<Codec> codec_;
};

}  // namespace shardkit::image
