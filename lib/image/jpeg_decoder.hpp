#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/bytes.hpp"
#include "core/fields.hpp"
#include "core/prng.hpp"
#include "image/pixels.hpp"

namespace shardkit::image {

/// How a decode went wrong. `none` and, unless strict, `warned` come with pixels; the others without.
enum class DecodeFailure {
  none,
  warned,          ///< decoded, but libjpeg found damaged data on the way
  truncated,       ///< the bytes end before the image does
  corrupt,         ///< libjpeg gave up
  not_jpeg,        ///< something else, such as a PNG under a JPEG's name
  zero_pixels,     ///< a side of the image is 0
  too_large,       ///< more than 2^28 pixels: refused before memory is taken
  too_many_scans,  ///< a progressive image made to cost time
};
constexpr auto enum_names(DecodeFailure) {
  return std::to_array<std::string_view>(
      {"none", "warned", "truncated", "corrupt", "not_jpeg", "zero_pixels", "too_large", "too_many_scans"});
}

struct DecodeOptions {
  bool strict = false;         ///< a warned image counts as failed
  unsigned max_scans = 500;    ///< of a progressive image
  unsigned scale_divisor = 1;  ///< 1, 2, 4 or 8: decode() shrinks by it in the DCT; crops are always full size
  bool keep_gray = false;      ///< decode() gives one channel for a gray image; crops are always RGB
  bool smooth_chroma = true;   ///< false: decode() repeats subsampled chroma as it is; crops always interpolate it
};

/// What became of one image.
struct Decoded {
  DecodeFailure failure = DecodeFailure::none;
  PixelView pixels;          ///< RGB, or gray where asked for; empty when failed. Valid until the decoder's next call.
  std::string_view message;  ///< libjpeg's words where it had any; valid as long as the pixels
  bool has_pixels() const { return !pixels.bytes.empty(); }
};

/// Decodes JPEGs to RGB with libjpeg: gray is spread to three channels, CMYK and YCCK converted without a profile. Exif
/// orientation is not applied. Use one object per thread and keep it: buffers grow to the largest image and stay, so
/// that a warm decoder allocates nothing of its own. Never throws because of an image's bytes; only for lack of memory.
class JpegDecoder {
 public:
  explicit JpegDecoder(const DecodeOptions& options = {});
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  /// The whole image.
  Decoded decode(Bytes jpeg);
  /// The same at another divisor than the options': 1, 2, 4 or 8. A side of n pixels becomes one of ceil(n / divisor).
  Decoded decode_shrunk(Bytes jpeg, unsigned scale_divisor);

  /// RandomResizedCrop: draws a box (image/augment.hpp), decodes it alone and resizes it bilinearly to size x size.
  Decoded decode_random_crop(Bytes jpeg, Prng& prng, std::uint32_t size = 224);
  /// The same of a box that was drawn already, with the sides of the header; it lies in the image and is not empty. An
  /// image with other sides is DecodeFailure::corrupt.
  Decoded decode_resized_crop(Bytes jpeg, const CropBox& box, std::uint32_t size = 224);

 private:
  struct Codec;
  std::unique_ptr<Codec> codec_;
};

/// The PSNR of images that are equal, and of those that differ by less: it has no upper end.
inline constexpr double kMostPsnr = 100;

/// How far two decodings of an image lie apart.
struct PixelDifference {
  double psnr_db = kMostPsnr;             ///< 10 log10(255^2 / mean squared difference of all values)
  std::array<std::uint8_t, 3> largest{};  ///< of red, green and blue
};

/// Both are RGB and of the same sides. Throws Error{usage} when they are not.
PixelDifference pixel_difference(const PixelView& a, const PixelView& b);

}  // namespace shardkit::image
