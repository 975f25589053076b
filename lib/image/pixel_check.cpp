#include "image/pixel_check.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <png.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include "image/png_file.hpp"

namespace shardkit::image {
namespace {

constexpr std::uint32_t kLongestPngSide = 1'000'000;  // libpng's own limit

PixelVerdict failed(DecodeFailure failure, std::string message = {}) { return {failure, std::move(message)}; }

/// libpng over bytes in memory. Its errors jump to read(), where no object needs a destructor.
class PngReader {
 public:
  explicit PngReader(Bytes file) : left_(file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) throw std::bad_alloc();
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  /// Reads all rows and the chunks behind them; false with a message when that fails.
  bool read() {
    if (setjmp(landing_) != 0) return false;
    // Texts and profiles are of no interest, and each could be a bomb.
    static constexpr char kIgnored[] = "iCCP\0iTXt\0tEXt\0zTXt\0sPLT\0eXIf";
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, reinterpret_cast<png_const_bytep>(kIgnored), 6);
    png_set_read_fn(png_, this, on_read);
    png_read_info(png_, info_);
    const int passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    row_.resize(png_get_rowbytes(png_, info_));
    const std::uint32_t height = png_get_image_height(png_, info_);
    for (int pass = 0; pass < passes; ++pass) {
      for (std::uint32_t y = 0; y < height; ++y) png_read_row(png_, row_.data(), nullptr);
    }
    png_read_end(png_, nullptr);
    return true;
  }

  const std::string& message() const { return message_; }

 private:
  [[noreturn]] static void on_error(png_structp png, png_const_charp text) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    self->message_ = text;
    std::longjmp(self->landing_, 1);
  }

  static void on_read(png_structp png, png_bytep out, std::size_t size) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (self->left_.size() < size) {
      png_error(png, "the data ends early; all rows are there");
    }
    std::memcpy(out, self->left_.data(), size);
    self->left_ = self->left_.subspan(size);
  }

  Bytes left_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf landing_{};
  std::vector<png_byte> row_;
  std::string message_;
};

/// libpng compares all checksums and wants the last chunk; Pillow neither compares those of pixels nor looks at what
/// follows the last row.
PixelVerdict check_png(Bytes file) {
  PngFile png(file);
  if (!png.open()) return failed(DecodeFailure::corrupt, png.fault());
  PngReader reader(file);
  const bool clean = reader.read();
  if (!clean && !png.read_rows()) {
    return failed(png.ended() ? DecodeFailure::truncated : DecodeFailure::corrupt, png.fault());
  }
  if (!png.read_end()) return failed(DecodeFailure::corrupt, png.fault());
  return clean ? PixelVerdict{} : failed(DecodeFailure::warned, reader.message());
}

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};

/// One frame, scaled down on its way so that a lossy one takes memory for some rows only.
PixelVerdict check_frame(const WebPData& frame) {
  constexpr int most_side = 64;
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) return failed(DecodeFailure::corrupt, "libwebp has another version");
  if (const VP8StatusCode status = WebPGetFeatures(frame.bytes, frame.size, &config.input); status != VP8_STATUS_OK) {
    return failed(status == VP8_STATUS_NOT_ENOUGH_DATA ? DecodeFailure::truncated : DecodeFailure::corrupt);
  }
  config.options.use_scaling = 1;
  config.options.scaled_width = std::min(config.input.width, most_side);
  config.options.scaled_height = std::min(config.input.height, most_side);
  config.output.colorspace = MODE_RGBA;
  const VP8StatusCode status = WebPDecode(frame.bytes, frame.size, &config);
  WebPFreeDecBuffer(&config.output);
  switch (status) {
    case VP8_STATUS_OK:
      return {};
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return failed(DecodeFailure::truncated);
    case VP8_STATUS_OUT_OF_MEMORY:
      return failed(DecodeFailure::too_large, "libwebp ran out of memory");
    default:
      return failed(DecodeFailure::corrupt);
  }
}

PixelVerdict check_webp(Bytes file) {
  const WebPData data{reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  const std::unique_ptr<WebPDemuxer, DeleteDemuxer> demuxer(WebPDemuxPartial(&data, &state));
  if (demuxer == nullptr || state != WEBP_DEMUX_DONE) {
    const bool cut = state == WEBP_DEMUX_PARSING_HEADER || state == WEBP_DEMUX_PARSED_HEADER;
    return failed(cut ? DecodeFailure::truncated : DecodeFailure::corrupt);
  }
  WebPIterator frame{};
  if (WebPDemuxGetFrame(demuxer.get(), 1, &frame) == 0) return failed(DecodeFailure::corrupt, "it has no frame");
  PixelVerdict result = check_frame(frame.fragment);
  WebPDemuxReleaseIterator(&frame);
  return result;
}

bool is_too_large(const ImageSize& size, ImageKind kind) {
  const bool too_long = kind == ImageKind::png && std::max(size.width, size.height) > kLongestPngSide;
  return too_long || std::uint64_t{size.width} * size.height > kMostCheckedPixels;
}

}  // namespace

bool has_decoder(ImageKind kind) {
  using enum ImageKind;
  return kind == jpeg || kind == png || kind == webp || kind == gif || kind == bmp || kind == pnm;
}

PixelVerdict check_pixels(Bytes image) {
  const ImageKind kind = sniff_image(image);
  if (kind != ImageKind::png && kind != ImageKind::webp) return {};
  const std::optional<ImageSize> size = image_size(image);
  if (!size) return failed(DecodeFailure::truncated);
  if (is_too_large(*size, kind)) {
    return failed(DecodeFailure::too_large, fmt::format("{} x {} pixels", size->width, size->height));
  }
  return kind == ImageKind::png ? check_png(image) : check_webp(image);
}

PixelVerdict PixelChecker::check(Bytes image) {
  return sniff_image(image) == ImageKind::jpeg ? check_jpeg(image) : check_pixels(image);
}

PixelVerdict PixelChecker::check_jpeg(Bytes image) {
  constexpr std::uint32_t at_a_time = 8;
  const JpegErrors& errors = reader_.errors();
  bool whole = reader_.read_header(image);
  if (whole && std::uint64_t{reader_.image_width()} * reader_.image_height() > kMostCheckedPixels) {
    return failed(DecodeFailure::too_large,
                  fmt::format("{} x {} pixels", reader_.image_width(), reader_.image_height()));
  }
  whole = whole && reader_.start(1, true, false);
  if (whole) {
    const std::size_t stride = std::size_t{reader_.output_width()} * reader_.output_channels();
    rows_.resize(stride * at_a_time);
    std::uint32_t left = reader_.output_height();
    while (whole && left > 0) {
      const std::uint32_t rows = std::min(left, at_a_time);
      whole = reader_.read_rows(rows_.data(), stride, rows);
      left -= rows;
    }
  }
  if (whole) reader_.finish();  // without an end marker it stops, which does not matter any more
  if (const DecodeFailure error = reader_.error(); error != DecodeFailure::none)
    return failed(error, error == DecodeFailure::corrupt ? errors.text : "");
  if (!whole) return failed(DecodeFailure::truncated, fmt::format("the JPEG ends early, after {} bytes", image.size()));
  return errors.warned ? failed(DecodeFailure::warned, errors.text) : PixelVerdict{};
}

}  // namespace shardkit::image
