#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/bytes.hpp"
#include "core/fields.hpp"
#include "core/prng.hpp"
#include "image/pixels.hpp"

namespace shardkit::image {

/// An image with more is refused before memory is allocated.
inline constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 28U;

/// Kind of a decoding failure. `none` and `warned` come with pixels; the others without.
enum class DecodeFailure {
  none,
  warned,          ///< decoded, but libjpeg found damaged data
  truncated,       ///< the bytes end before the image does
  corrupt,         ///< libjpeg reported an error
  not_jpeg,        ///< another format, such as a PNG named as JPEG
  zero_pixels,     ///< width or height is 0
  too_large,       ///< more than kMaxPixels
  too_many_scans,  ///< a progressive image made to take very long
};
constexpr auto enum_names(DecodeFailure) {
  return std::to_array<std::string_view>(
      {"none", "warned", "truncated", "corrupt", "not_jpeg", "zero_pixels", "too_large", "too_many_scans"});
}

struct DecodeOptions {
  unsigned max_scans = 500;    ///< for a progressive image
  unsigned scale_divisor = 1;  ///< 1, 2, 4 or 8: decode() shrinks by it in the DCT; crops are always full size
  bool keep_gray = false;      ///< decode() gives one channel for a gray image; crops are always RGB
  bool smooth_chroma = true;   ///< false: decode() repeats subsampled chroma as it is; crops always interpolate it
};

/// Outcome of one image.
struct Decoded {
  DecodeFailure failure = DecodeFailure::none;
  PixelView pixels;          ///< RGB, or gray where asked for; empty when failed. Valid until the decoder's next call.
  std::string_view message;  ///< libjpeg's message if there is one; valid as long as the pixels
  bool has_pixels() const { return !pixels.bytes.empty(); }
};

/// Decodes JPEGs to RGB with libjpeg: gray is expanded to three channels, CMYK and YCCK are converted without a
/// profile. Exif orientation is not applied. Use one object per thread and keep it: buffers grow to the largest image
/// and stay, so that a warm decoder allocates nothing itself. Never throws because of an image's bytes; only for lack
/// of memory.
class JpegDecoder {
 public:
  explicit JpegDecoder(const DecodeOptions& options = {});
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  /// The whole image.
  Decoded decode(Bytes jpeg);
  /// The same with another divisor than that of the options: 1, 2, 4 or 8. A side of n pixels becomes ceil(n /
  /// divisor).
  Decoded decode_shrunk(Bytes jpeg, unsigned scale_divisor);

  /// RandomResizedCrop: chooses a box (image/augment.hpp), decodes only that and resizes it bilinearly to size x size.
  Decoded decode_random_crop(Bytes jpeg, Prng& prng, std::uint32_t size = 224);
  /// The same for a given box and the dimensions of the header; the box is inside the image and not empty. An image
  /// with other dimensions is DecodeFailure::corrupt.
  Decoded decode_resized_crop(Bytes jpeg, const CropBox& box, std::uint32_t size = 224);

 private:
  struct Codec;
  std::unique_ptr<Codec> codec_;
};

/// The PSNR of equal or nearly equal images, which has no upper limit.
inline constexpr double kMostPsnr = 100;

/// Difference of two decodings of an image.
struct PixelDifference {
  double psnr_db = kMostPsnr;             ///< 10 log10(255^2 / mean squared difference of all values)
  std::array<std::uint8_t, 3> largest{};  ///< of red, green and blue
};

/// Both are RGB with the same dimensions. Throws Error{usage} otherwise.
PixelDifference pixel_difference(const PixelView& a, const PixelView& b);

}  // namespace shardkit::image
