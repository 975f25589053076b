#pragma once

#include <memory>

#include "core/bytes.hpp"
#include "image/image_header.hpp"
#include "image/pixels.hpp"

namespace shardkit::image {

struct EncodeOptions {
  int quality = 90;  ///< libjpeg's scale, 1 to 100
  /// For RGB pixels: s444, s422 or s420. Gray pixels make a gray JPEG in any case.
  Subsampling subsampling = Subsampling::s420;
  bool optimize = false;     ///< Huffman tables made for this image: about 3 % smaller, a second pass
  bool progressive = false;  ///< libjpeg's standard progression of scans
  /// Exif orientation, 1 to 8, for readers to rotate the picture; the pixels are unchanged. 1 writes no Exif.
  unsigned orientation = 1;
};

/// Makes baseline or progressive JPEGs with a JFIF header and, on request, an Exif segment after it. Use one object per
/// thread and keep it: its buffer grows to the largest output and stays.
class JpegEncoder {
 public:
  JpegEncoder();
  ~JpegEncoder();
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;

  /// Encodes RGB (3 channels) or gray (1) pixels with width and height of 1 to 65500. The bytes stay valid until the
  /// next call. Throws Error{usage} for invalid pixels or options.
  Bytes encode(const PixelView& pixels, const EncodeOptions& options);

 private:
  struct Codec;
  std::unique_ptr<Codec> codec_;
};

}  // namespace shardkit::image
