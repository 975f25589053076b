#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <doctest/doctest.h>

#include "bench/decode/decode.hpp"
#include "bench/decode/decode_images.hpp"
#include "bench/decode/device_decode_bench.hpp"
#include "image/pixels.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::image;
using namespace shardkit::test;
using namespace shardkit_test;

namespace {

std::uint64_t decoded_by(const DecodeResult& result, DecodePath path) {
  const DecodeShare& row = result.nvjpeg->paths.at(static_cast<std::size_t>(path));
  CHECK(row.path == path);
  CHECK(row.share == doctest::Approx(static_cast<double>(row.samples) / static_cast<double>(result.decoded)));
  return row.samples;
}

void write_usual_images(const DeviceDecodeBench& bench, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) bench.write(std::to_string(i) + ".jpg", jpeg_of({}, i));
}

}  // namespace

TEST_CASE("baseline images are decoded by hardware, each at least once, and rates are reported") {
  DeviceDecodeBench bench;
  write_usual_images(bench, 9);
  const DecodeResult result = bench.run();
  CHECK(result.backend == DecodeBackend::nvjpeg);
  CHECK(result.threads == 2);
  CHECK(result.images == 9);
  CHECK(result.decoded == 9);
  CHECK(result.samples_per_second == doctest::Approx(9 / result.decode_seconds));
  CHECK(result.cpu_seconds_per_sample == doctest::Approx(result.cpu_seconds / 9));
  CHECK(result.megapixels_per_second * result.decode_seconds == doctest::Approx(9 * result.mix.mean_megapixels));
  CHECK(result.bytes_per_second * result.decode_seconds == doctest::Approx(9 * result.mix.mean_bytes));
  CHECK(result.failures.total == 0);
  REQUIRE(result.nvjpeg);
  CHECK(decoded_by(result, DecodePath::hardware) == 9);
  CHECK(result.nvjpeg->refused == 0);
  CHECK(result.nvjpeg->returned == 0);
  CHECK(bench.device.allocations() == 0);
}

TEST_CASE("a result says what decoded") {
  DeviceDecodeBench bench({}, {.index = 0});
  write_usual_images(bench, 2);
  const DecodeResult result = bench.run();
  CHECK(result.nvjpeg->device == 0);
  CHECK(result.nvjpeg->name == "fake GPU");
  CHECK(result.nvjpeg->library == "fake nvJPEG");
  CHECK(result.nvjpeg->hardware);
  CHECK(result.nvjpeg->hardware_engines == 7U);
  CHECK(result.nvjpeg->batch == 256);
  CHECK_FALSE(result.samples_per_second_per_core);  // of cores it tells nothing
  CHECK(result.cores_needed.empty());
}

TEST_CASE("each image goes to the engine that takes it, and the rest to the CPU") {
  DeviceDecodeBench bench;
  write_usual_images(bench, 3);
  bench.write("progressive_1.jpg", progressive_jpeg(1));
  bench.write("progressive_2.jpg", progressive_jpeg(2));
  bench.write("large.jpg", narrow_chroma_jpeg(1000));
  bench.write("cmyk.jpg", cmyk_jpeg());
  const DecodeResult result = bench.run();
  CHECK(decoded_by(result, DecodePath::hardware) == 3);
  CHECK(decoded_by(result, DecodePath::hybrid) == 2);
  CHECK(decoded_by(result, DecodePath::gpu_hybrid) == 1);
  CHECK(decoded_by(result, DecodePath::cpu) == 1);
  CHECK(result.decoded == 7);
  CHECK(result.nvjpeg->refused == 1);
  CHECK(result.failures.total == 0);
}

TEST_CASE("a GPU without decoders in silicon decodes by the others") {
  DeviceDecodeBench bench({.hardware = false});
  write_usual_images(bench, 4);
  const DecodeResult result = bench.run();
  CHECK(decoded_by(result, DecodePath::hardware) == 0);
  CHECK(decoded_by(result, DecodePath::hybrid) == 4);
  CHECK_FALSE(result.nvjpeg->hardware);
  CHECK_FALSE(result.nvjpeg->hardware_engines);
}

TEST_CASE("hardware decoders that a missing library of the driver hides are a warning") {
  DeviceDecodeBench bench({.video_library = false, .hardware = false});
  write_usual_images(bench, 4);
  bench.run();
  REQUIRE(bench.context.warnings().size() == 1);
  CHECK(bench.context.warnings().front().code == "no_video_library");
}

TEST_CASE("images go in batches of no more than was asked for") {
  DeviceDecodeBench bench;
  write_usual_images(bench, 10);
  bench.options.batch = 4;
  CHECK(bench.run().decoded == 10);
  CHECK(bench.decoder.largest_batch() == 4);
}

TEST_CASE("an image that an engine could not decode is the CPU's, and its batch is none the worse") {
  const std::string bad = jpeg_of({}, 3);
  DeviceDecodeBench bench({.failing = is_image(bad)});
  write_usual_images(bench, 6);
  const DecodeResult result = bench.run();
  CHECK(decoded_by(result, DecodePath::hardware) == 5);
  CHECK(decoded_by(result, DecodePath::cpu) == 1);
  CHECK(result.nvjpeg->returned == 1);
  CHECK(result.nvjpeg->refused == 0);
  CHECK(result.failures.total == 0);
  CHECK(result.nvjpeg->pixels.compared >= 5);
}

TEST_CASE("a decoder that takes images and decodes none leaves them all to the CPU") {
  DeviceDecodeBench bench({.failing = [](Bytes) { return true; }});
  write_usual_images(bench, 6);
  const DecodeResult result = bench.run();
  CHECK(decoded_by(result, DecodePath::cpu) == 6);
  CHECK(result.nvjpeg->returned == 6);
  CHECK(result.nvjpeg->pixels.compared == 0);
  CHECK_FALSE(result.nvjpeg->pixels.min_psnr);
}

TEST_CASE("what goes wrong is counted by kind, once per image, as on the CPU") {
  DeviceDecodeBench bench;
  const std::string jpeg = jpeg_of({}, 1);
  bench.write("good.jpg", jpeg);
  bench.write("cut.jpg", jpeg.substr(0, jpeg.size() / 2));
  bench.write("cut_header.jpg", jpeg.substr(0, 30));
  bench.write("really_a_png.jpg", kTinyPng);
  bench.options.min_seconds = 0.02;  // each comes more than once
  const DecodeResult result = bench.run();
  CHECK(result.images == 4);
  CHECK(result.failures.other_format == 1);
  CHECK(result.failures.truncated + result.failures.corrupt == 2);
  CHECK(result.failures.total == 3);
  CHECK(result.nvjpeg->returned == 1);
  CHECK(result.nvjpeg->refused == 2);
}

TEST_CASE("when not one image can be decoded no rate is reported") {
  DeviceDecodeBench bench;
  bench.write("a.jpg", kTinyPng);
  bench.write("b.jpg", jpeg_of({}).substr(0, 30));
  const auto failure = failure_of([&] { bench.run(); });
  CHECK(failure == ErrorCode::corrupt);
  CHECK(failure.says("none of 2 images"));
}

TEST_CASE("a decoder that writes wrong pixels is refused before a rate is reported, and the image named") {
  const std::string image = jpeg_of({}, 3);
  for (const bool skipped : {false, true}) {
    FakeJpegDecoder::Settings settings;
    (skipped ? settings.skipped : settings.inverted) = is_image(image);
    DeviceDecodeBench bench(settings);
    write_usual_images(bench, 6);
    const auto failure = failure_of([&] { bench.run(); });
    CHECK(failure == ErrorCode::corrupt);
    CHECK(failure.path == bench.dir.path("3.jpg"));
    CHECK(failure.says("hardware engine"));
    CHECK(failure.says("No rate is reported"));
    CHECK(bench.device.allocations() == 0);
  }
}

TEST_CASE("a decoder that goes wrong only while it is timed is refused too") {
  std::atomic<int> times{0};
  DeviceDecodeBench bench({.inverted = [&](Bytes) { return times.fetch_add(1) >= 6; }});
  write_usual_images(bench, 6);
  CHECK(failure_of([&] { bench.run(); }) == ErrorCode::corrupt);
}

TEST_CASE("over and over for as long as asked for") {
  DeviceDecodeBench bench;
  write_usual_images(bench, 1);
  bench.options.min_seconds = 0.05;
  const DecodeResult result = bench.run();
  CHECK(result.decode_seconds > 0.04);
  CHECK(result.decoded > 1);
}

TEST_CASE("batches that need more than a quarter of the GPU's free memory are smaller, with a warning") {
  // 64 x 64 x 3 is 12288 bytes: a quarter of the memory holds three of them.
  DeviceDecodeBench bench({}, {.memory = 4 * 3 * 12288});
  for (const char* name : {"a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"}) bench.write(name, jpeg_of({}));
  const DecodeResult result = bench.run();
  CHECK(decoded_by(result, DecodePath::hardware) == 5);
  CHECK(bench.decoder.largest_batch() == 3);
  CHECK(result.nvjpeg->memory == 3 * 12288);
  REQUIRE(bench.context.warnings().size() == 1);
  CHECK(bench.context.warnings().front().code == "batches_shortened");
}

TEST_CASE("an image that is larger than that memory is the CPU's") {
  DeviceDecodeBench bench({}, {.memory = 4 * 3 * 12288});
  bench.write("small.jpg", jpeg_of({}));
  bench.write("large.jpg", jpeg_of({}, 0, 200));
  const DecodeResult result = bench.run();
  CHECK(decoded_by(result, DecodePath::hardware) == 1);
  CHECK(decoded_by(result, DecodePath::cpu) == 1);
  CHECK(result.nvjpeg->refused == 1);
}

TEST_CASE("another GPU is taken when it is named, and one that is not there is refused") {
  DeviceDecodeBench bench;
  FakeDevice second({.index = 1});
  bench.machine.devices.push_back(&second);
  write_usual_images(bench, 2);
  bench.options.device = 1;
  CHECK(bench.run().nvjpeg->device == 1);
  bench.options.device = 2;
  const auto failure = failure_of([&] { bench.run(); });
  CHECK(failure == ErrorCode::unsupported);
  CHECK(failure.says("--device 2: there is no such GPU"));
}

TEST_CASE("a stop during the measurement keeps what was decoded, and nothing stays on the GPU") {
  DeviceDecodeBench bench;
  write_usual_images(bench, 3);
  bench.options.min_seconds = 60;
  std::stop_source stop;
  Context stopped(stop.get_token());
  std::jthread stopper([&] {
    while (std::string_view(stopped.progress().phase.load()) != "decoding" || stopped.progress().items == 0)
      std::this_thread::yield();
    stop.request_stop();
  });
  const DecodeResult result = bench.run(stopped);
  CHECK(result.interrupted);
  CHECK(result.decoded > 0);
  CHECK(bench.device.allocations() == 0);
}

TEST_CASE("a stop before the first image is an error, and nothing stays on the GPU") {
  DeviceDecodeBench bench;
  write_usual_images(bench, 3);
  std::stop_source stop;
  stop.request_stop();
  Context stopped(stop.get_token());
  CHECK(failure_of([&] { bench.run(stopped); }) == ErrorCode::cancelled);
  CHECK(bench.device.allocations() == 0);
}

TEST_CASE("options that do not go together are usage errors with a remedy") {
  const auto refused = [](auto change) {
    DeviceDecodeBench bench;
    write_usual_images(bench, 1);
    change(bench.options);
    const auto failure = failure_of([&] { decode(bench.options, bench.context); });
    CHECK(failure == ErrorCode::usage);
    CHECK(failure.says(" needs --backend "));
    return failure.text.substr(0, failure.text.find(' '));
  };
  using Options = DecodeBenchOptions;
  CHECK(refused([](Options& o) { o.crop = 224; }) == "--crop");
  CHECK(refused([](Options& o) { o.augment = Augmentation::imagenet; }) == "--augment");
  CHECK(refused([](Options& o) { o.scaling = true; }) == "--scaling");
  const auto on_cpu = [&](auto change) {
    return refused([&](Options& o) {
      o.backend = DecodeBackend::cpu;
      change(o);
    });
  };
  CHECK(on_cpu([](Options& o) { o.batch = 8; }) == "--batch");
  CHECK(on_cpu([](Options& o) { o.device = 0; }) == "--device");
}

TEST_CASE("absurd batches are usage errors") {
  for (const std::uint64_t batch : {std::uint64_t{0}, std::uint64_t{1} << 40U}) {
    DeviceDecodeBench bench;
    write_usual_images(bench, 1);
    bench.options.batch = batch;
    CHECK(failure_of([&] { bench.run(); }) == ErrorCode::usage);
  }
}

TEST_CASE("real photographs, of every kind that ImageNet has") {
  namespace fs = std::filesystem;
  const char* folder = std::getenv("SHARDKIT_IMAGENET_SAMPLE");
  if (folder == nullptr || !fs::is_directory(folder)) {
    MESSAGE("SKIPPED: SHARDKIT_IMAGENET_SAMPLE names no folder of photographs");
    return;
  }
  for (const bool hardware : {true, false}) {
    DeviceDecodeBench bench({.hardware = hardware}, {.memory = std::uint64_t{2} << 30U});
    bench.options.paths = {folder};
    const DecodeResult result = bench.run();
    CHECK(result.images > 300);
    CHECK(result.decoded + result.failures.total == result.images);
    CHECK(result.nvjpeg->pixels.compared + result.nvjpeg->refused + result.nvjpeg->pixels.damaged >= result.images);
    CHECK(result.nvjpeg->pixels.min_psnr == kMostPsnr);
    CHECK(decoded_by(result, hardware ? DecodePath::hardware : DecodePath::hybrid) > 200);
  }
}
