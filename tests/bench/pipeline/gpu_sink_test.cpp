#include "bench/pipeline/gpu_sink.hpp"

#include <stdexcept>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/pipeline/gpu_fakes.hpp"
#include "bench/pipeline/loader.hpp"
#include "bench/pipeline/pipeline_fakes.hpp"
#include "bench/pipeline/step_loop.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::gpu;
using namespace shardkit::image;
using namespace shardkit::test;
using shardkit_test::failure_of;
using shardkit_test::FakeDevice;

namespace {

/// Hands over a sample of 2 x 2 pixels.
std::uint64_t hand_over_one(BatchSink& sink, BatchMemory& memory) {
  StageClock clock(Activity::transfer);
  return sink.hand_over({memory, 1, 48, {}, 0}, clock).slot;
}

void run(const LoaderSettings& settings, BatchSink& sink, const StepSettings& step = {}) {
  FakeSource source(small_jpeg(), 22);
  Context context;
  Loader loader(settings, source, sink, nullptr, context);
  StepLoop loop(step, sink, nullptr);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) loop.run_epoch(loader, epoch);
}

/// The batches that steps get where nothing is copied.
std::vector<std::vector<std::byte>> batches_of_the_host(LoaderSettings settings) {
  settings.form = SampleForm::tensor;
  FakeSink sink;
  run(settings, sink);
  return sink.batches;
}

/// How making a sink fails.
auto failure_with(const FakeDevice::Settings& device_settings, const LoaderSettings& settings) {
  FakeDevice device(device_settings);
  const RecordedTree tree;
  Context context;
  const std::vector<Device*> devices{&device};
  const auto failure = failure_of([&] { const GpuSink sink(settings, devices, {}, tree, context); });
  CHECK(device.allocations() == 0);
  return failure;
}

}  // namespace

TEST_CASE("batches arrive on the GPU as they are on the host, bit for bit, wherever they are normalized") {
  for (const TensorType type : {TensorType::u8, TensorType::f16, TensorType::f32}) {
    LoaderSettings settings = small_loader();
    settings.type = type;
    const auto expected = batches_of_the_host(settings);
    REQUIRE(expected.size() == 12);
    CHECK(expected.back().size() == 2 * sample_bytes(settings));
    for (const SampleForm form : {SampleForm::tensor, SampleForm::crop}) {
      settings.form = form;
      FakeDevice device;
      Context context;
      WatchedSink sink(settings, {&device}, context);
      run(settings, sink);
      CAPTURE(static_cast<int>(type));
      CAPTURE(static_cast<int>(form));
      CHECK(sink.batches == expected);
    }
  }
}

TEST_CASE("slots and host memory go round without a batch being written over, whatever the prefetch and the GPUs") {
  for (const std::uint64_t prefetch : {0U, 1U, 3U}) {
    for (const std::uint64_t gpus : {1U, 2U, 3U}) {
      LoaderSettings settings = small_loader();
      settings.prefetch = prefetch;
      settings.gpus = gpus;
      settings.form = SampleForm::crop;
      const auto expected = batches_of_the_host(settings);
      FakeDevice one;
      FakeDevice other({.index = 1});
      {
        Context context;
        WatchedSink sink(settings, {&one, &other}, context);
        run(settings, sink);
        CAPTURE(prefetch);
        CAPTURE(gpus);
        CHECK(sink.batches == expected);
        CHECK(sink.copies().copies == expected.size());
        CHECK(one.copies() > 1);
        CHECK((other.copies() > 1) == (gpus > 1));
      }
      CHECK(one.allocations() + other.allocations() == 0);
    }
  }
}

TEST_CASE("what is copied is counted, at the rate of the GPU's own clock when memory is pinned") {
  for (const bool pinned : {true, false}) {
    LoaderSettings settings = small_loader();
    settings.pinned = pinned;
    FakeDevice device({.to_device = 1e9, .copy_seconds = 0});
    Context context;
    WatchedSink sink(settings, {&device}, context);
    run(settings, sink);
    CHECK(sink.copies().copies == 12);
    CHECK(sink.copies().bytes == 44 * sample_bytes(settings));
    CHECK(sink.copies().seconds > 0);
    if (pinned) CHECK(static_cast<double>(sink.copies().bytes) / sink.copies().seconds == doctest::Approx(1e9));
  }
}

TEST_CASE("normalized on the GPU, one byte a level and one a flip cross the bus") {
  LoaderSettings settings = small_loader();
  settings.form = SampleForm::crop;
  FakeDevice device;
  Context context;
  WatchedSink sink(settings, {&device}, context);
  run(settings, sink);
  CHECK(sink.copies().bytes == 44 * 9 * 9 * 3 + 12 * 256);
}

TEST_CASE("steps that spin have the GPUs compute for their time") {
  LoaderSettings settings = small_loader();
  settings.gpus = 2;
  FakeDevice device;
  Context context;
  WatchedSink sink(settings, {&device}, context);
  run(settings, sink, {.step_seconds = 0.002, .kind = StepKind::spin});
  CHECK(device.spun() == 12 * 2'000'000);
}

TEST_CASE("a stop ends what the GPU computes before its time") {
  FakeDevice device;
  Context context;
  LoaderSettings settings;
  settings.batch = 1;
  settings.crop = 2;
  WatchedSink sink(settings, {&device}, context);
  const auto memory = sink.make_memory(48);
  const std::uint64_t slot = hand_over_one(sink, *memory);
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(sink.compute(std::vector{slot}, 3600, stop.get_token()));
}

TEST_CASE("more batches than slots are a mistake of ours, and found") {
  FakeDevice device;
  Context context;
  LoaderSettings settings;
  settings.batch = 1;
  settings.crop = 2;
  settings.prefetch = 0;
  WatchedSink sink(settings, {&device}, context);
  const auto memory = sink.make_memory(48);
  const std::uint64_t slot = hand_over_one(sink, *memory);
  CHECK_THROWS_AS(hand_over_one(sink, *memory), std::logic_error);
  sink.release(slot);
  CHECK(hand_over_one(sink, *memory) == slot);
}

TEST_CASE("a GPU that damages what is copied to it is found before anything is measured") {
  const auto failure = failure_with({.damaged_copy = 0}, small_loader());
  CHECK(failure == ErrorCode::corrupt);
  CHECK(failure.says("GPU 0 (fake GPU) has 1 wrong bytes of"));
}

TEST_CASE("so is one that normalizes otherwise than the processor") {
  LoaderSettings settings = small_loader();
  CHECK_FALSE(failure_with({.damaged_kernel = 0}, settings).failed);
  settings.form = SampleForm::crop;
  const auto failure = failure_with({.damaged_kernel = 0}, settings);
  CHECK(failure == ErrorCode::corrupt);
  CHECK(failure.says("normalizes differently from the CPU, from byte 0 of"));
}

TEST_CASE("batches that the GPU has no room for are refused with the options to change") {
  LoaderSettings settings = small_loader();
  settings.batch = 100'000;
  const auto failure = failure_with({}, settings);
  CHECK(failure == ErrorCode::no_space);
  for (const char* option :
       {"GPU 0: 3 batches of 100000 samples", "--batch", "--prefetch", "--dtype", "--device none"}) {
    CHECK(failure.says(option));
  }
}

TEST_CASE("a node that cannot be had is warned of, and memory comes from any") {
  FakeDevice device({.numa_node = 4000});
  Context context;
  WatchedSink sink(small_loader(), {&device}, context);
  CHECK(sink.make_memory(100)->bytes().size() == 100);
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings().front().code == "numa_not_bound");
}
