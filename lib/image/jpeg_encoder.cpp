#include "image/jpeg_encoder.hpp"

#include <array>
#include <cstdlib>
#include <new>

#include "core/error.hpp"
#include "image/jpeg_reader.hpp"

namespace shardkit::image {
namespace {

struct Factors {
  int h;
  int v;
};

/// Luma's sampling factors while chroma's are 1 x 1.
Factors luma_factors(Subsampling subsampling) {
  switch (subsampling) {
    case Subsampling::s444:
      return {1, 1};
    case Subsampling::s422:
      return {2, 1};
    case Subsampling::s420:
      return {2, 2};
    default:
      throw usage_error("a color JPEG uses 4:4:4, 4:2:2 or 4:2:0, not {}", enum_name(subsampling));
  }
}

/// Sides and channels that no JPEG has libjpeg refuses itself.
void check(const PixelView& pixels) {
  if (pixels.bytes.size() != pixels.stride() * pixels.height) {
    throw usage_error("{} x {} pixels of {} channels are not {} bytes", pixels.width, pixels.height, pixels.channels,
                      pixels.bytes.size());
  }
}

void check(const EncodeOptions& options) {
  if (options.orientation < 1 || options.orientation > 8) {
    throw usage_error("an Exif orientation is 1 to 8, not {}", options.orientation);
  }
}

/// The smallest Exif segment with an orientation (Exif 2.3, 4.5 and 4.6): its name, a big-endian TIFF header, and one
/// directory of one entry: tag 0x0112, a SHORT, one of them, its value; no directory follows.
constexpr std::array<std::uint8_t, 32> exif_segment(unsigned orientation) {
  const auto value = static_cast<std::uint8_t>(orientation);
  return {'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, value};
}

}  // namespace

struct JpegEncoder::Codec {
  Codec() : info{}, errors{} {
    errors.install();
    if (bytes == nullptr) throw std::bad_alloc();
  }
  ~Codec() { std::free(bytes); }
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  /// Runs libjpeg; false when it gave up. Nothing here may have a destructor: libjpeg leaves by a jump. Makes and
  /// destroys libjpeg's object each time: it would keep the last image's optimized Huffman tables and use them for the
  /// next.
  bool run(const PixelView& pixels, const EncodeOptions& options, Factors luma) {
    errors.reset();
    info.err = &errors.base;
    if (setjmp(errors.landing) != 0) {
      jpeg_destroy_compress(&info);
      return false;
    }
    jpeg_create_compress(&info);
    unsigned char* target = bytes;
    size = capacity;
    jpeg_mem_dest(&info, &target, &size);
    configure(pixels, options, luma);
    jpeg_start_compress(&info, TRUE);
    if (options.orientation != 1) {
      const std::array<std::uint8_t, 32> exif = exif_segment(options.orientation);
      jpeg_write_marker(&info, JPEG_APP0 + 1, exif.data(), static_cast<unsigned>(exif.size()));
    }
    while (info.next_scanline < info.image_height) {
      // libjpeg's interface predates const; it only reads the row.
      JSAMPROW row = const_cast<JSAMPROW>(pixels.row(info.next_scanline));
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    if (target != bytes) {
      std::free(bytes);
      bytes = target;
      capacity = size;
    }
    return true;
  }

  void configure(const PixelView& pixels, const EncodeOptions& options, Factors luma) {
    info.image_width = pixels.width;
    info.image_height = pixels.height;
    info.input_components = static_cast<int>(pixels.channels);
    info.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, options.quality, TRUE);
    info.dct_method = JDCT_ISLOW;
    info.optimize_coding = options.optimize ? TRUE : FALSE;
    info.comp_info[0].h_samp_factor = luma.h;
    info.comp_info[0].v_samp_factor = luma.v;
    if (options.progressive) jpeg_simple_progression(&info);
  }

  jpeg_compress_struct info;
  JpegErrors errors;
  /// Output memory as libjpeg wants it: by malloc, replaced by a larger block when it runs over. It is there from the
  /// start, because libjpeg would lose a block of its own when it gives up.
  unsigned long capacity = 64 * 1024;
  unsigned char* bytes = static_cast<unsigned char*>(std::malloc(capacity));
  unsigned long size = 0;
};

JpegEncoder::JpegEncoder() : codec_(std::make_unique<Codec>()) {}
JpegEncoder::~JpegEncoder() = default;

Bytes JpegEncoder::encode(const PixelView& pixels, const EncodeOptions& options) {
  check(pixels);
  check(options);
  const Factors luma = pixels.channels == 1 ? Factors{1, 1} : luma_factors(options.subsampling);
  if (!codec_->run(pixels, options, luma)) {
    throw usage_error("libjpeg could not encode these pixels: {}", codec_->errors.text);
  }
  return std::as_bytes(std::span(codec_->bytes, codec_->size));
}

}  // namespace shardkit::image
