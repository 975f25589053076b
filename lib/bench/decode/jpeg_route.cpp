#include "bench/decode/jpeg_route.hpp"

#include "image/jpeg_header.hpp"

namespace shardkit {

std::optional<JpegRoute> route_jpeg(DeviceJpegDecoder& decoder, Bytes jpeg) {
  const auto [status, header] = read_jpeg_header(jpeg);
  if (status != JpegHeaderStatus::ok || header.width == 0 || header.height == 0) return std::nullopt;
  const bool marked_rgb = header.components == 3 && header.adobe && header.adobe_transform == 0;
  if (marked_rgb || header.named_rgb) return std::nullopt;
  const auto engine = decoder.engine_for(jpeg);
  if (!engine) return std::nullopt;
  return JpegRoute{*engine, header.width, header.height};
}

}  // namespace shardkit
