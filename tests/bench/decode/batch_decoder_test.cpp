#include <doctest/doctest.h>

#include "bench/decode/decode.hpp"
#include "bench/decode/decode_images.hpp"
#include "bench/decode/device_decode_bench.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::gpu;
using namespace shardkit::image;
using namespace shardkit::test;
using namespace shardkit_test;

namespace {

/// Three images of 64, 65 and 66 columns and 64 rows.
struct Fixture {
  explicit Fixture(std::uint64_t batch, const FakeJpegDecoder::Settings& settings = {},
                   const FakeDevice::Settings& device = {})
      : bench(settings, device), store(load()), batches(store, bench.device, bench.decoder, batch, bench.context) {}

  JpegStore load() {
    for (std::uint32_t i = 0; i < 3; ++i) bench.write(std::to_string(i) + ".jpg", jpeg_of({}, i));
    return {find_input({bench.dir.path()}, bench.context), 1000, 1U << 30U, bench.context};
  }
  RoutedJpeg routed(std::size_t index) const { return {index, batches.route(index).value()}; }

  DeviceDecodeBench bench;
  JpegStore store;
  BatchDecoder batches;
};

}  // namespace

TEST_CASE("memory is that of the largest images, which may come several times, from steps of 256 bytes") {
  CHECK(Fixture(1).batches.memory() == 12800);  // 66 * 64 * 3 = 12672
  CHECK(Fixture(3).batches.memory() == 12800 + 12544 + 12288);
  CHECK(Fixture(4).batches.memory() == 2 * 12800 + 12544 + 12288);
  CHECK(Fixture(4).bench.context.warnings().empty());
}

TEST_CASE("a batch is full with as many images as asked for, or when the next would not fit") {
  Fixture three(3);
  JpegBatch batch;
  for (const std::size_t index : {2U, 1U}) BatchDecoder::add(batch, three.routed(index));
  CHECK(three.batches.has_room(batch, three.routed(0)));
  CHECK_FALSE(three.batches.has_room(batch, three.routed(2)));  // larger than what is left
  BatchDecoder::add(batch, three.routed(0));
  CHECK_FALSE(three.batches.has_room(batch, three.routed(0)));
}

TEST_CASE(
    "decoded images lie where they are said to, and those that failed are reported by their number in the store") {
  Fixture fixture(3, {.failing = is_image(jpeg_of({}, 1))});
  JpegBatch batch;
  for (const std::size_t index : {2U, 1U, 0U}) BatchDecoder::add(batch, fixture.routed(index));
  const DecodedBatch decoded = fixture.batches.decode(JpegEngine::hardware, batch);
  CHECK(batch.images.empty());
  CHECK(batch.bytes == 0);
  CHECK(decoded.returned == std::vector<std::size_t>{1});
  REQUIRE(decoded.images.size() == 2);
  JpegDecoder decoder;
  for (std::size_t i = 0; i < 2; ++i) {
    const PixelView expected = decoder.decode(fixture.store.image(decoded.images[i].index)).pixels;
    CHECK(decoded.pixels[i].width == expected.width);
    const Bytes found(decoded.pixels[i].pixels.data, decoded.pixels[i].pixels.size);
    CHECK(std::ranges::equal(found, std::as_bytes(expected.bytes)));
  }
}
