#include <algorithm>

#include <doctest/doctest.h>

#include "bench/decode/decode_images.hpp"
#include "bench/pipeline/gpu_fakes.hpp"
#include "bench/pipeline/gpu_sink.hpp"
#include "bench/pipeline/loader.hpp"
#include "bench/pipeline/pipeline_fakes.hpp"
#include "bench/pipeline/step_loop.hpp"
#include "support/errors.hpp"
#include "support/fake_jpeg_decoder.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::gpu;
using namespace shardkit::image;
using namespace shardkit::test;
using shardkit_test::failure_of;
using shardkit_test::FakeDevice;
using shardkit_test::FakeJpegDecoder;

namespace {

/// Gives these images in turn, so many in all.
class MixedSource final : public ImageSource {
 public:
  MixedSource(std::vector<std::string> images, std::size_t samples) : images_(std::move(images)), samples_(samples) {}

  SourceForm form() const override { return SourceForm::files; }
  std::size_t most_readers() const override { return 1; }
  void begin_epoch(std::uint64_t /*epoch*/) override {}
  void read(SampleOutlet& outlet, const std::stop_token& stop) override {
    for (std::size_t i = 0; i < samples_ && !stop.stop_requested(); ++i) {
      if (!outlet.give(buffer_of(images_[i % images_.size()]))) return;
    }
  }

 private:
  std::vector<std::string> images_;
  std::size_t samples_;
};

struct Outcome {
  std::vector<std::vector<std::byte>> batches;
  LoaderTally tally;
};

Outcome run(const LoaderSettings& settings, const std::vector<std::string>& images, BatchSink& sink,
            const std::vector<std::vector<std::byte>>& batches, std::size_t samples = 22) {
  MixedSource source(images, samples);
  Context context;
  Loader loader(settings, source, sink, nullptr, context);
  StepLoop loop({}, sink, nullptr);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) loop.run_epoch(loader, epoch);
  return {batches, loader.tally()};
}

Outcome on_host(const LoaderSettings& settings, const std::vector<std::string>& images) {
  FakeSink sink;
  return run(settings, images, sink, sink.batches);
}

Outcome on_gpu(LoaderSettings settings, const std::vector<std::string>& images, FakeJpegDecoder& decoder,
               std::uint64_t memory = 1U << 20U, std::size_t samples = 22) {
  settings.decode = DecodeKind::nvjpeg;
  settings.form = SampleForm::encoded;
  settings.jpegs = &decoder;
  settings.largest_device_jpeg = memory;
  FakeDevice device;
  Context context;
  WatchedSink sink(settings, {&device}, context, {&decoder});
  return run(settings, images, sink, sink.batches, samples);
}

std::vector<std::string> photos() { return {small_jpeg(0), small_jpeg(5), progressive_jpeg(), small_jpeg(9)}; }

/// Has a sound header and next to nothing behind it.
std::string cut_jpeg() {
  const std::string jpeg = small_jpeg();
  return jpeg.substr(0, read_jpeg_header(as_bytes(jpeg)).header.scan_offset + 4);
}

std::uint64_t by(const Outcome& outcome, JpegEngine engine) {
  return outcome.tally.paths.engines[static_cast<std::size_t>(engine)];
}

bool is_progressive(Bytes jpeg) { return read_jpeg_header(jpeg).header.progressive; }

}  // namespace

TEST_CASE("images decoded on the GPU make the batches that the processor makes, bit for bit") {
  for (const TensorType type : {TensorType::u8, TensorType::f16, TensorType::f32}) {
    LoaderSettings settings = small_loader();
    settings.type = type;
    FakeJpegDecoder decoder;
    const Outcome there = on_gpu(settings, photos(), decoder);
    CHECK(there.batches == on_host(settings, photos()).batches);
    CHECK(by(there, JpegEngine::hardware) + by(there, JpegEngine::hybrid) == 44);
    CHECK(there.tally.paths.total() == 44);
    CHECK(decoder.largest_batch() > 1);
  }
}

TEST_CASE("memory for decoded images that holds but some of a batch goes round within it") {
  constexpr std::uint64_t kTwoImages = 2 * 80 * 64 * 3 + 4096;
  for (const std::uint64_t prefetch : {0U, 2U}) {
    LoaderSettings settings = small_loader();
    settings.prefetch = prefetch;
    FakeJpegDecoder decoder;
    CHECK(on_gpu(settings, photos(), decoder, kTwoImages).batches == on_host(settings, photos()).batches);
    CHECK(decoder.largest_batch() < 4);
  }
}

TEST_CASE("what no engine takes, and what is too large for the GPU's memory, is decoded by workers and counted") {
  std::vector<std::string> images = photos();
  images.push_back(jpeg_of({}, 0, 200));
  FakeJpegDecoder decoder({.refused = is_progressive});
  const Outcome there = on_gpu(small_loader(), images, decoder, 100'000);
  CHECK(there.batches == on_host(small_loader(), images).batches);
  CHECK(by(there, JpegEngine::hardware) == 2 * 14);
  CHECK(there.tally.paths.cpu == 2 * 8);
  CHECK(there.tally.paths.returned == 0);
}

TEST_CASE("what an engine took and failed at is decoded by the CPU after it, with the crop that was drawn") {
  FakeJpegDecoder decoder({.failing = is_progressive});
  const Outcome there = on_gpu(small_loader(), photos(), decoder);
  CHECK(there.batches == on_host(small_loader(), photos()).batches);
  CHECK(there.tally.paths.returned == 2 * 5);
  CHECK(there.tally.failures.total == 0);
}

TEST_CASE("an image that neither can decode is in no batch and counted by its kind") {
  const std::string broken = cut_jpeg();
  FakeJpegDecoder decoder;
  const Outcome there = on_gpu(small_loader(), {small_jpeg(), broken}, decoder);
  CHECK(there.tally.decoded == 22);
  CHECK(there.tally.failures.truncated == 22);
  CHECK(there.tally.paths.total() == 22);
  std::size_t bytes = 0;
  for (const auto& batch : there.batches) bytes += batch.size();
  CHECK(bytes == 22 * sample_bytes(small_loader()));
}

TEST_CASE("batches of which nothing is left are passed over, and the next ones come") {
  const std::string broken = cut_jpeg();
  for (const std::uint64_t prefetch : {0U, 1U}) {
    LoaderSettings settings = small_loader();
    settings.prefetch = prefetch;
    FakeJpegDecoder decoder;
    const Outcome none = on_gpu(settings, {broken}, decoder);
    CHECK(none.batches.empty());
    CHECK(none.tally.decoded == 0);
    CHECK(none.tally.failures.truncated == 44);
    std::vector<std::string> images(8, broken);
    images.push_back(small_jpeg());
    CHECK(on_gpu(settings, images, decoder, 1U << 20U, 18).tally.decoded == 2 * 2);
  }
}

TEST_CASE("without a usable header the processor is asked, which says what is wrong") {
  FakeJpegDecoder decoder;
  const Outcome there = on_gpu(small_loader(), {"no JPEG", small_jpeg()}, decoder);
  CHECK(there.tally.failures.not_jpeg == 22);
  CHECK(by(there, JpegEngine::hardware) == 22);
  CHECK(there.tally.paths.cpu == 0);
}
