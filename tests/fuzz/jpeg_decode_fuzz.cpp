// A decoder gives pixels or a failure for any bytes, and the same whatever it decoded before.

#include <algorithm>

#include "fuzz/fuzz.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_decoder.hpp"

using namespace shardkit;
using namespace shardkit::image;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t most_pixels = 1U << 16U;  // larger ones only take longer
  const Bytes file = fuzz::bytes_of(data, size);
  const auto sides = image_size(file);
  if (!sides || std::uint64_t{sides->width} * sides->height > most_pixels) return 0;
  static JpegDecoder used;
  JpegDecoder fresh;
  const Decoded a = used.decode(file);
  const Decoded b = fresh.decode(file);
  fuzz::promise(a.failure == b.failure && std::ranges::equal(a.pixels.bytes, b.pixels.bytes));
  Prng prng(1);
  used.decode_random_crop(file, prng, 32);
  return 0;
}
