// A resize gives a sound JPEG of the size that was asked for, the input itself or a failure, for any bytes.

#include <algorithm>

#include "fuzz/fuzz.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_resizer.hpp"

using namespace shardkit;
using namespace shardkit::image;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t most_pixels = 1U << 16U;  // larger ones only take longer
  constexpr ResizeOptions options{.shorter = 7, .quality = 80};
  const Bytes file = fuzz::bytes_of(data, size);
  const auto sides = image_size(file);
  if (sides && std::uint64_t{sides->width} * sides->height > most_pixels) return 0;
  static JpegResizer used(options);
  JpegResizer fresh(options);
  const std::size_t most_bytes = size + size % 3 * 1000;  // sometimes too few, so that quality falls
  const Resized a = used.resize(file, most_bytes);
  const Resized b = fresh.resize(file, most_bytes);
  fuzz::promise(a.failure == b.failure && a.changed == b.changed && std::ranges::equal(a.jpeg, b.jpeg));
  if (!a.changed) {
    fuzz::promise(a.failure == DecodeFailure::none ? a.jpeg.data() == file.data() : a.jpeg.empty());
    return 0;
  }
  fuzz::promise(a.failure == DecodeFailure::none && a.jpeg.size() <= most_bytes);
  JpegDecoder decoder;
  const Decoded decoded = decoder.decode(a.jpeg);
  fuzz::promise(decoded.failure == DecodeFailure::none);
  fuzz::promise(std::min(decoded.pixels.width, decoded.pixels.height) == options.shorter);
  fuzz::promise(std::max(sides->width, sides->height) >= std::max(decoded.pixels.width, decoded.pixels.height));
  return 0;
}
