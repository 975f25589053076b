// The libnvjpeg.so.13 for tests refuses what nvJPEG does not allow, so that a caller which does it does not pass its
// tests. nvJPEG itself often gives wrong pixels instead.

#include <vector>

#include <doctest/doctest.h>

#include "gpu/cuda_queue.hpp"
#include "gpu/nvjpeg_library.hpp"
#include "image/fixtures.hpp"
#include "image/jpeg_encoder.hpp"

using namespace shardkit;
using namespace shardkit::gpu;
using namespace shardkit::image;
using namespace shardkit::test;

namespace {

constexpr std::uint32_t kSide = 24;

/// Everything that one image needs, made on GPU 0.
struct Session {
  Session() {
    select_cuda_device(0);
    REQUIRE(nvjpeg.create(NvjpegBackend::hardware, nullptr, nullptr, 0, &handle) == NvjpegStatus::success);
    nvjpeg.device_padding(1, handle);
    nvjpeg.pinned_padding(1, handle);
    nvjpeg.stream_create(handle, &parsed);
    nvjpeg.params_create(handle, &params);
    nvjpeg.params_set_format(params, kNvjpegRgb);
    nvjpeg.decoder_create(handle, NvjpegBackend::hybrid, &decoder);
    nvjpeg.decoder_create(handle, NvjpegBackend::gpu_hybrid, &other_decoder);
    nvjpeg.decoder_state_create(handle, decoder, &state);
    nvjpeg.state_create(handle, &batches);
    nvjpeg.pinned_create(handle, nullptr, &pinned);
    nvjpeg.device_create(handle, nullptr, &device);
    nvjpeg.attach_pinned(state, pinned);
    nvjpeg.attach_device(state, device);
    image.channel[0] = pixels.data();
    JpegEncoder encoder;
    jpeg = copy_of(encoder.encode(make_picture(kSide, kSide).view(), {}));
    parse();
  }

  ~Session() {
    stream.synchronize();
    nvjpeg.device_destroy(device);
    nvjpeg.pinned_destroy(pinned);
    nvjpeg.state_destroy(batches);
    nvjpeg.state_destroy(state);
    nvjpeg.decoder_destroy(other_decoder);
    nvjpeg.decoder_destroy(decoder);
    nvjpeg.params_destroy(params);
    nvjpeg.stream_destroy(parsed);
    nvjpeg.destroy(handle);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  NvjpegStatus parse() { return nvjpeg.stream_parse(handle, data(), jpeg.size(), 0, 0, parsed); }
  NvjpegStatus host() { return nvjpeg.decode_host(handle, decoder, state, params, parsed); }
  NvjpegStatus transfer(const CudaQueue& queue) {
    return nvjpeg.decode_transfer(handle, decoder, state, parsed, queue.handle());
  }
  NvjpegStatus finish(const CudaQueue& queue) {
    return nvjpeg.decode_device(handle, decoder, state, &image, queue.handle());
  }
  NvjpegStatus set_up_batch() { return nvjpeg.batched_initialize(handle, batches, 1, 1, kNvjpegRgb); }
  NvjpegStatus decode_batch(const CudaQueue& queue, std::size_t bytes) {
    const unsigned char* const start = data();
    return nvjpeg.batched_decode(handle, batches, &start, &bytes, &image, queue.handle());
  }
  const unsigned char* data() const { return reinterpret_cast<const unsigned char*>(jpeg.data()); }

  NvjpegLibrary nvjpeg{{"libnvjpeg.so.13"}};
  ByteVector jpeg;
  std::vector<unsigned char> pixels = std::vector<unsigned char>(std::size_t{kSide} * kSide * 3);
  NvjpegImage image{};
  NvjpegHandle handle{};
  NvjpegStream parsed{};
  NvjpegParams params{};
  NvjpegEngine decoder{};
  NvjpegEngine other_decoder{};
  NvjpegState state{};
  NvjpegState batches{};
  NvjpegPinned pinned{};
  NvjpegDevice device{};
  CudaQueue stream{0};
  CudaQueue other_stream{0};
};

constexpr auto kGood = NvjpegStatus::success;
constexpr auto kRefused = NvjpegStatus::invalid;

}  // namespace

TEST_CASE("the phases of an image follow each other on one stream") {
  Session session;
  CHECK(session.transfer(session.stream) == kRefused);
  CHECK(session.finish(session.stream) == kRefused);
  CHECK(session.host() == kGood);
  CHECK(session.finish(session.stream) == kRefused);
  CHECK(session.transfer(session.stream) == kGood);
  CHECK(session.finish(session.other_stream) == kRefused);
  CHECK(session.finish(session.stream) == kGood);
  session.stream.synchronize();
}

TEST_CASE("a state belongs to the decoder that it was made for") {
  Session session;
  CHECK(session.nvjpeg.decode_host(session.handle, session.other_decoder, session.state, session.params,
                                   session.parsed) == kRefused);
  CHECK(session.nvjpeg.batched_initialize(session.handle, session.state, 1, 1, kNvjpegRgb) == kRefused);
  CHECK(session.nvjpeg.decode_host(session.handle, session.decoder, session.batches, session.params, session.parsed) ==
        kRefused);
}

TEST_CASE("the host does not write what the GPU still reads") {
  Session session;
  REQUIRE(session.host() == kGood);
  REQUIRE(session.transfer(session.stream) == kGood);
  CHECK(session.parse() == kRefused);
  CHECK(session.host() == kRefused);
  CHECK(session.nvjpeg.attach_device(session.state, session.device) == kRefused);
  session.stream.synchronize();
  CHECK(session.parse() == kGood);
  CHECK(session.host() == kGood);
  CHECK(session.nvjpeg.attach_device(session.state, session.device) == kGood);
}

TEST_CASE("a batch is set up while none is under way") {
  Session session;
  CHECK(session.decode_batch(session.stream, session.jpeg.size()) == kRefused);
  REQUIRE(session.set_up_batch() == kGood);
  REQUIRE(session.decode_batch(session.stream, session.jpeg.size()) == kGood);
  CHECK(session.set_up_batch() == kRefused);
  CHECK(session.decode_batch(session.stream, session.jpeg.size()) == kRefused);
  session.stream.synchronize();
  CHECK(session.set_up_batch() == kGood);
}

TEST_CASE("after a batch that failed its state is set up again") {
  Session session;
  REQUIRE(session.set_up_batch() == kGood);
  CHECK(session.decode_batch(session.stream, session.jpeg.size() / 2) == NvjpegStatus::failed);
  CHECK(session.decode_batch(session.stream, session.jpeg.size()) == kRefused);
  CHECK(session.set_up_batch() == kGood);
  CHECK(session.decode_batch(session.stream, session.jpeg.size()) == kGood);
  session.stream.synchronize();
}
