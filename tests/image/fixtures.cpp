#include "image/fixtures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>  // jpeglib.h needs it and does not include it
#include <cstdlib>

#include <jpeglib.h>

#include "core/prng.hpp"

namespace shardkit::test {

Picture make_picture(std::uint32_t width, std::uint32_t height, unsigned channels) {
  Picture picture{{}, width, height, channels};
  picture.bytes.reserve(std::size_t{width} * height * channels);
  Prng prng(width * 31 + height);
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      for (unsigned c = 0; c < channels; ++c) {
        const double wave = 90 + 50 * std::sin(x / (13.0 + c)) + 40 * std::cos(y / (7.0 + 2 * c));
        const double edge = (x / 37 + y / 29) % 2 == 0 ? 30 : 0;
        const double level = wave + edge + static_cast<double>(prng.below(8));
        picture.bytes.push_back(static_cast<std::uint8_t>(std::clamp(level, 0.0, 255.0)));
      }
    }
  }
  return picture;
}

ByteVector encode_raw(const Picture& picture, const RawJpegOptions& options) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = picture.width;
  info.image_height = picture.height;
  info.input_components = static_cast<int>(picture.channels);
  info.in_color_space = picture.channels == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  info.write_Adobe_marker = options.adobe_marker ? TRUE : FALSE;
  info.comp_info[0].h_samp_factor = options.luma_h;
  info.comp_info[0].v_samp_factor = options.luma_v;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(picture.view().row(info.next_scanline));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  ByteVector out = copy_of(std::as_bytes(std::span(bytes, size)));
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return out;
}

double psnr(const image::PixelView& a, const image::PixelView& b) {
  double error = 0;
  for (std::size_t i = 0; i < a.bytes.size(); ++i) {
    const double difference = static_cast<double>(a.bytes[i]) - b.bytes[i];
    error += difference * difference;
  }
  const double mean = error / static_cast<double>(a.bytes.size());
  return 10 * std::log10(255.0 * 255.0 / std::max(mean, 1e-9));
}

ByteVector copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace shardkit::test
