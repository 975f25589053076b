// Over a libnvjpeg.so.13 and a CUDA runtime of our own (tests/support/fake_nvjpeg.cpp, fake_cuda.cpp), which have no
// GPU: what the decoder asks of them, in which order and by which thread, is what is tested.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <doctest/doctest.h>

#include "gpu/device_jpeg_decoder.hpp"
#include "image/fixtures.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_decoder.hpp"
#include "image/jpeg_encoder.hpp"
#include "support/environment.hpp"
#include "support/errors.hpp"
#include "support/fake_device.hpp"
#include "support/fake_nvjpeg.hpp"

using namespace shardkit;
using namespace shardkit::gpu;
using namespace shardkit::image;
using namespace shardkit::test;
using namespace shardkit_test;

bool fake_jpeg_header(const unsigned char* data, std::size_t length, FakeJpegHeader* header) {
  const auto [status, read] = read_jpeg_header({reinterpret_cast<const std::byte*>(data), length});
  *header = {read.width, read.height, read.components, static_cast<int>(read.subsampling), read.progressive};
  return status == JpegHeaderStatus::ok;
}

bool fake_jpeg_decode(const unsigned char* data, std::size_t length, unsigned char* rgb, std::size_t capacity) {
  JpegDecoder decoder;
  const Decoded decoded = decoder.decode({reinterpret_cast<const std::byte*>(data), length});
  if (!decoded.has_pixels() || decoded.pixels.bytes.size() > capacity) return false;
  std::memcpy(rgb, decoded.pixels.bytes.data(), decoded.pixels.bytes.size());
  return true;
}

namespace {

int most_batches = 0;

}  // namespace

void fake_jpeg_batches(int under_way) { most_batches = std::max(most_batches, under_way); }

namespace {

ByteVector jpeg(std::uint32_t width, std::uint32_t height, const EncodeOptions& options = {}) {
  JpegEncoder encoder;
  return copy_of(encoder.encode(make_picture(width, height).view(), options));
}

/// Whose header is whole and whose pixels are not.
ByteVector damaged_jpeg() {
  ByteVector bytes = jpeg(40, 30);
  bytes.resize(bytes.size() / 2);
  return bytes;
}

/// Images of different sides, and memory for their pixels.
struct Batch {
  explicit Batch(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      encoded.push_back(jpeg(static_cast<std::uint32_t>(16 + i), static_cast<std::uint32_t>(20 + i % 7)));
    }
  }

  std::vector<DeviceJpeg> jobs() {
    std::vector<DeviceJpeg> all;
    for (const ByteVector& bytes : encoded) {
      const JpegHeader header = read_jpeg_header(bytes).header;
      ByteVector& to = pixels.emplace_back(std::size_t{header.width} * header.height * 3);
      all.push_back({bytes, {{to.data(), to.size()}, header.width, header.height}});
    }
    return all;
  }

  /// The indexes of images whose pixels are not those that libjpeg-turbo gives.
  std::vector<std::size_t> wrong() const {
    std::vector<std::size_t> indexes;
    JpegDecoder decoder;
    for (std::size_t i = 0; i < encoded.size(); ++i) {
      const auto expected = decoder.decode(encoded[i]).pixels.bytes;
      if (!std::ranges::equal(std::as_bytes(expected), pixels[i])) indexes.push_back(i);
    }
    return indexes;
  }

  std::vector<ByteVector> encoded;
  std::vector<ByteVector> pixels;
};

/// nvJPEG on the second GPU: a thread that forgets to select it is refused by the fakes.
struct Nvjpeg {
  explicit Nvjpeg(unsigned threads = 2) : decoder(open_jpeg_decoder(device, threads)) {}
  FakeDevice device{FakeDevice::Settings{.index = 1}};
  std::unique_ptr<DeviceJpegDecoder> decoder;
};

}  // namespace

TEST_CASE("the library tells its version, and whether the GPU has decoders in silicon") {
  const JpegDecoderFacts with = Nvjpeg().decoder->facts();
  CHECK(with.library == "nvJPEG 13.0.1 (libnvjpeg.so.13)");
  CHECK(with.hardware);
  CHECK(with.video_library);
  CHECK(with.hardware_engines == 7);
  const Environment none("FAKE_NVJPEG_HARDWARE", "0");
  const JpegDecoderFacts without = Nvjpeg().decoder->facts();
  CHECK_FALSE(without.hardware);
  CHECK_FALSE(without.hardware_engines);
}

TEST_CASE("hardware takes baseline images, the hybrid engines what it does not") {
  const Nvjpeg nvjpeg;
  CHECK(nvjpeg.decoder->engine_for(jpeg(64, 48)) == JpegEngine::hardware);
  CHECK(nvjpeg.decoder->engine_for(jpeg(64, 48, {.progressive = true})) == JpegEngine::hybrid);
  CHECK(nvjpeg.decoder->engine_for(jpeg(1024, 1024, {.progressive = true})) == JpegEngine::hybrid);
  const Environment none("FAKE_NVJPEG_HARDWARE", "0");
  const Nvjpeg soft;
  CHECK(soft.decoder->engine_for(jpeg(64, 48)) == JpegEngine::hybrid);
  CHECK(soft.decoder->engine_for(jpeg(1024, 1024)) == JpegEngine::gpu_hybrid);
}

TEST_CASE("the CPU decodes what nvJPEG would decode otherwise, or not at all") {
  const Nvjpeg nvjpeg;
  const Picture picture = make_picture(40, 40, 4);
  CHECK_FALSE(nvjpeg.decoder->engine_for(encode_raw(picture, {.adobe_marker = true})));  // CMYK
  CHECK_FALSE(nvjpeg.decoder->engine_for(encode_raw(make_picture(40, 40), {2, 4})));     // no subsampling it knows
  CHECK_FALSE(nvjpeg.decoder->engine_for({}));
  CHECK_FALSE(nvjpeg.decoder->engine_for(ByteVector(100)));
}

TEST_CASE("a batch for hardware: every image lands in its memory") {
  Batch batch(20);
  const Nvjpeg nvjpeg;
  CHECK(nvjpeg.decoder->decode(JpegEngine::hardware, batch.jobs()).empty());
  CHECK(batch.wrong().empty());
  CHECK(most_batches == 2);  // one is parsed while the engines decode the other
  CHECK(nvjpeg.decoder->decode(JpegEngine::hardware, {}).empty());
}

TEST_CASE("of a batch that fails the images at fault are found, and the others decode") {
  Batch batch(21);
  for (const std::size_t bad : {0U, 7U, 8U, 20U}) batch.encoded[bad] = damaged_jpeg();
  const std::vector<std::size_t> expected{0, 7, 8, 20};
  const Nvjpeg nvjpeg;
  CHECK(nvjpeg.decoder->decode(JpegEngine::hardware, batch.jobs()) == expected);
  CHECK(batch.wrong() == expected);
}

TEST_CASE("hybrid engines: threads take images in turn, and none overwrites what the GPU still reads") {
  for (const JpegEngine engine : {JpegEngine::hybrid, JpegEngine::gpu_hybrid}) {
    for (const unsigned threads : {1U, 3U}) {
      Batch batch(50);
      for (const std::size_t bad : {3U, 4U, 5U, 49U}) batch.encoded[bad] = damaged_jpeg();
      const std::vector<std::size_t> expected{3, 4, 5, 49};
      const Nvjpeg nvjpeg(threads);
      CHECK(nvjpeg.decoder->decode(engine, batch.jobs()) == expected);
      CHECK(batch.wrong() == expected);
    }
  }
}

TEST_CASE("a decoder serves one batch after the other, with any engine") {
  const Nvjpeg nvjpeg(4);
  for (const JpegEngine engine : {JpegEngine::hybrid, JpegEngine::hardware, JpegEngine::gpu_hybrid}) {
    for (const std::size_t count : {1U, 9U, 2U}) {
      Batch batch(count);
      CHECK(nvjpeg.decoder->decode(engine, batch.jobs()).empty());
      CHECK(batch.wrong().empty());
    }
  }
}

TEST_CASE("threads of the hybrid engines stay for the next batch") {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
  };
  const auto before = threads();
  {
    const Nvjpeg nvjpeg(3);
    for (int i = 0; i < 3; ++i) {
      Batch batch(9);
      CHECK(nvjpeg.decoder->decode(JpegEngine::hybrid, batch.jobs()).empty());
      CHECK(threads() == before + 3);
    }
  }
  CHECK(threads() == before);
}

TEST_CASE("short memory is no fault of an image") {
  const Environment full("FAKE_NVJPEG_DECODE", "5");
  for (const JpegEngine engine : {JpegEngine::hardware, JpegEngine::hybrid}) {
    Batch batch(3);
    const Nvjpeg nvjpeg;
    const auto failure = failure_of([&] { nvjpeg.decoder->decode(engine, batch.jobs()); });
    CHECK(failure == ErrorCode::no_space);
    CHECK(failure.says("nvJPEG: 5: not enough GPU or pinned memory"));
  }
}

TEST_CASE("a GPU on which nvJPEG does not start says so in one line") {
  const Environment none("FAKE_NVJPEG_CREATE", "7");
  const auto failure = failure_of([] { Nvjpeg(); });
  CHECK(failure == ErrorCode::unsupported);
  CHECK(failure.text == "no nvJPEG on GPU 1: nvjpegCreateEx of libnvjpeg.so.13 failed: 7: not supported by this GPU");
}

TEST_CASE("where the library of CUDA 13 does not start on an older driver, that of CUDA 12 decodes") {
  const Environment older("FAKE_NVJPEG_NEWEST", "12");
  const Nvjpeg nvjpeg;
  CHECK(nvjpeg.decoder->facts().library == "nvJPEG 12.0.1 (libnvjpeg.so.12)");
  Batch batch(3);
  CHECK(nvjpeg.decoder->decode(JpegEngine::hardware, batch.jobs()).empty());
  CHECK(batch.wrong().empty());
}

TEST_CASE("a GPU without decoders in silicon is not asked to use them") {
  const Environment none("FAKE_NVJPEG_HARDWARE", "0");
  Batch batch(1);
  const Nvjpeg nvjpeg;
  CHECK(failure_of([&] { nvjpeg.decoder->decode(JpegEngine::hardware, batch.jobs()); }) == ErrorCode::unsupported);
}
