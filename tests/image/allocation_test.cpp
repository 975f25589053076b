// That the hot loop of decoding and augmenting takes no memory: this program's operator new counts.

#include <cstdlib>
#include <new>

#include <doctest/doctest.h>

#include "image/augment.hpp"
#include "image/fixtures.hpp"
#include "image/jpeg_decoder.hpp"
#include "image/jpeg_encoder.hpp"

namespace {

thread_local std::size_t allocations = 0;

void* counted(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

using namespace shardkit;
using namespace shardkit::image;
using namespace shardkit::test;

TEST_CASE("once warm, decoding crops and whole images and augmenting them allocates nothing") {
  std::vector<ByteVector> images;
  JpegEncoder encoder;
  for (std::uint32_t i = 0; i < 8; ++i)
    images.push_back(copy_of(encoder.encode(make_picture(200 + i, 150).view(), {})));
  images.push_back(encode_raw(make_picture(100, 80, 4), {.adobe_marker = true}));
  std::vector<std::byte> sample(std::size_t{3} * 224 * 224 * 4);
  for (const TensorType type : {TensorType::u8, TensorType::f16, TensorType::f32}) {
    JpegDecoder decoder;
    Augmenter augmenter(type);
    const auto work_on_all = [&] {
      Prng prng(3);
      for (const ByteVector& image : images) {
        const Decoded crop = decoder.decode_random_crop(image, prng, 224);
        REQUIRE(crop.has_pixels());
        augmenter.augment(crop.pixels, draw_flip(prng), sample);
        REQUIRE(decoder.decode(image).has_pixels());
      }
    };
    work_on_all();
    const std::size_t before = allocations;
    work_on_all();
    CHECK(allocations == before);
  }
  CHECK(allocations > 0);  // the count counts
}
