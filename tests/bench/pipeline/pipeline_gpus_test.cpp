#include <algorithm>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/pipeline/pipeline_setup.hpp"
#include "support/errors.hpp"
#include "support/fake_device.hpp"
#include "support/fake_jpeg_decoder.hpp"
#include "support/recorded_tree.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::gpu;
using namespace shardkit::stats;
using namespace shardkit::test;
using shardkit_test::failure_of;
using shardkit_test::FakeDevice;
using shardkit_test::FakeJpegDecoder;

namespace {

PipelineOptions small_options() {
  PipelineOptions options;
  options.paths = {"data"};
  options.batch = 4;
  options.workers = 2;
  options.crop = 16;
  return options;
}

/// Options changed by `change`.
template <class Change>
PipelineOptions with(const Change& change) {
  PipelineOptions options = small_options();
  change(options);
  return options;
}

std::string refusal(const PipelineOptions& options) {
  const auto failure = failure_of([&] { set_up(options); });
  if (failure.failed) CHECK(failure == ErrorCode::usage);
  return failure.text;
}

/// Twenty images in a shard, measured on these GPUs.
PipelineResult measure(const PipelineOptions& options, std::vector<Device*> devices, Context& context) {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(20, "a"));
  const RecordedTree tree;
  return pipeline(options, find_input({folder.path()}, context), {tree, std::move(devices)}, context);
}

PipelineResult measure(const PipelineOptions& options, std::vector<Device*> devices) {
  Context context;
  return measure(options, std::move(devices), context);
}

}  // namespace

TEST_CASE("batches go to the GPU where there is one, and stay on the host where there is none or that was asked for") {
  FakeDevice device;
  const PipelineResult there = measure(small_options(), {&device});
  CHECK(there.sink == SinkKind::gpu);
  REQUIRE(there.copies);
  CHECK(there.copies->devices == std::vector<std::string>{"0: fake GPU"});
  CHECK(there.copies->pinned);
  CHECK(there.copies->copies == 5);
  CHECK(there.copies->bytes == 20 * 16 * 16 * 3 * 4);
  CHECK(there.copies->bytes_per_second > 0);
  CHECK(there.normalize == NormalizeKind::cpu);
  CHECK(device.allocations() == 0);
  const PipelineResult here = measure(small_options(), {});
  CHECK(here.sink == SinkKind::host);
  CHECK_FALSE(here.copies);
  CHECK(measure(with([](auto& o) { o.device = "none"; }), {&device}).sink == SinkKind::host);
}

TEST_CASE("what needs a GPU is refused where there is none") {
  for (const PipelineOptions& options : {with([](auto& o) { o.device = "0"; }), with([](auto& o) {
                                           o.step = StepKind::spin;
                                           o.step_time = 1;
                                         })}) {
    const auto failure = failure_of([&] { measure(options, {}); });
    CHECK(failure == ErrorCode::unsupported);
    CHECK(failure.says(std::string(*option_for_gpu(options)) + ": no GPU is available"));
  }
}

TEST_CASE("options about GPUs that contradict each other or are absurd are usage errors") {
  CHECK(refusal(small_options()).empty());
  CHECK(refusal(with([](auto& o) {
          o.device = "none";
          o.backend = DecodeKind::nvjpeg;
        })).starts_with("--backend nvjpeg needs a GPU, which --device none"));
  CHECK(refusal(with([](auto& o) { o.step = StepKind::spin; })).starts_with("--step spin needs --step-time"));
  for (const char* list : {"x", ",", "0,0", "-1", "0 1"}) {
    CHECK(refusal(with([&](auto& o) { o.device = list; })).starts_with("--device: expected different GPU numbers"));
  }
  CHECK(refusal(with([](auto& o) {
          o.device = "0,1";
          o.gpus = 1;
        })).starts_with("--device: 2 GPUs listed, but 1 step together"));
}

TEST_CASE("GPUs that are named take the batches, and as many step as are named") {
  FakeDevice first;
  FakeDevice second({.index = 1});
  FakeDevice third({.index = 2});
  const auto options = with([](auto& o) { o.device = "2,0"; });
  const PipelineResult result = measure(options, {&first, &second, &third});
  CHECK(result.gpus == 2);
  CHECK(result.copies->devices == std::vector<std::string>{"2: fake GPU", "0: fake GPU"});
  CHECK(second.copies() == 0);
  const auto failure = failure_of([&] { measure(with([](auto& o) { o.device = "3"; }), {&first, &second, &third}); });
  CHECK(failure == ErrorCode::unsupported);
  CHECK(failure.says("--device 3: there is no such GPU; this process can use 3 GPUs"));
}

TEST_CASE("more GPUs than there are share those, which is warned of") {
  FakeDevice device;
  Context context;
  const PipelineResult result = measure(with([](auto& o) { o.gpus = 3; }), {&device}, context);
  CHECK(result.gpus == 3);
  CHECK(result.samples == 20);
  const auto warnings = context.warnings();
  CHECK(std::ranges::count(warnings, "gpus_share_devices", &shardkit::Finding::code) == 1);
}

TEST_CASE("nvJPEG decodes on GPUs of one model, as workers do not choose theirs") {
  FakeDevice first;
  FakeDevice second({.index = 1});
  FakeDevice other({.index = 2, .name = "another GPU"});
  const RecordedTree tree;
  std::vector<unsigned> threads;
  const auto open = [&](const Device&, unsigned workers) {
    threads.push_back(workers);
    return std::make_unique<FakeJpegDecoder>();
  };
  Context context;
  const PipelineSetup setup = set_up(with([](auto& o) { o.backend = DecodeKind::nvjpeg; }));
  const auto decoders = [&](std::vector<Device*> gpus) {
    return open_decoders(setup, gpus, {tree, gpus, open}, context);
  };
  CHECK(decoders({&first, &second}).size() == 2);
  CHECK(threads == std::vector<unsigned>{2, 2});
  const auto failure = failure_of([&] { decoders({&first, &second, &other}); });
  CHECK(failure == ErrorCode::unsupported);
  CHECK(failure.says("all GPUs must be of one model, but GPU 0 is 'fake GPU' and GPU 2 is 'another GPU'"));
}

TEST_CASE("normalizing on the GPU takes a quarter of the bytes of f32 over the bus, and of the memory for batches") {
  FakeDevice device;
  const PipelineResult on_cpu = measure(small_options(), {&device});
  const PipelineResult on_gpu = measure(with([](auto& o) { o.normalize_on_gpu = true; }), {&device});
  CHECK(on_gpu.normalize == NormalizeKind::gpu);
  CHECK(on_gpu.batch_memory == on_cpu.batch_memory / 4);
  CHECK(on_gpu.copies->bytes - 5 * 256 == on_cpu.copies->bytes / 4);  // flips come with each
}

TEST_CASE("steps that spin are counted as emulated ones are") {
  FakeDevice device;
  const auto options = with([](auto& o) {
    o.step = StepKind::spin;
    o.step_time = 0.005;
  });
  const PipelineResult result = measure(options, {&device});
  CHECK(result.step == StepKind::spin);
  CHECK(device.spun() == 5 * 5'000'000);
  REQUIRE(result.au_ratio);
  CHECK(*result.au_ratio > 0);
  CHECK(*result.au_ratio <= 1);
  for (const StageRow& row : result.stages) {
    CHECK(row.busy_ratio + row.starved_ratio + row.blocked_ratio == doctest::Approx(1));
  }
}

TEST_CASE("each prefetch has its own share of the copies") {
  FakeDevice device;
  CHECK(measure(with([](auto& o) { o.prefetch = "0,3"; }), {&device}).copies->copies == 5);
}
