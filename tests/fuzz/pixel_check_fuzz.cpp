// A PNG or WebP decodes or it does not, whatever its bytes, and within memory for its pixels.

#include "fuzz/fuzz.hpp"
#include "image/pixel_check.hpp"

using namespace shardkit;
using namespace shardkit::image;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t most_pixels = 1U << 20U;  // larger ones only take longer
  const Bytes file = fuzz::bytes_of(data, size);
  const auto sides = image_size(file);
  if (sides && std::uint64_t{sides->width} * sides->height > most_pixels) return 0;
  const PixelVerdict once = check_pixels(file);
  const PixelVerdict again = check_pixels(file);
  fuzz::promise(once.failure == again.failure);
  return 0;
}
