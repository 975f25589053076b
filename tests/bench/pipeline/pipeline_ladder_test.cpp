
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
using shardkit_test::lend;

namespace {

PipelineOptions ladder_options() {
  PipelineOptions options;
  options.paths = {"data"};
  options.ladder = true;
  options.batch = 4;
  options.workers = 2;
  options.crop = 16;
  options.step_time = 0.001;
  return options;
}

PipelineResult climb(const PipelineOptions& options, const GpuMachine& machine) {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(20, "a"));
  Context context;
  return pipeline(options, find_input({folder.path()}, context), machine, context);
}

template <class Change>
std::string refusal(const Change& change) {
  PipelineOptions options = ladder_options();
  change(options);
  const auto failure = failure_of([&] { set_up(options); });
  if (failure.failed) CHECK(failure == ErrorCode::usage);
  return failure.text;
}

}  // namespace

TEST_CASE("each rung is measured on the same data and says what it adds") {
  FakeDevice device;
  FakeJpegDecoder decoder;
  const RecordedTree tree;
  PipelineOptions options = ladder_options();
  options.prefetch = "3";
  const PipelineResult result =
      climb(options, {tree, {&device}, [&](const Device&, unsigned) { return lend(decoder); }});
  REQUIRE(result.ladder.size() == 5);
  std::vector<std::string> names;
  for (const PipelineRung& row : result.ladder) {
    names.push_back(row.rung);
    CHECK_FALSE(row.missing);
    CHECK(*row.samples_per_second > 0);
    CHECK(*row.process_cpu_seconds_per_sample >= 0);
    CHECK(row.au_ratio);
    CHECK_FALSE(row.limiting_stage.empty());
  }
  CHECK(names == std::vector<std::string>{"naive", "pinned, one batch prefetched", "normalized on the GPU", "nvJPEG",
                                          "all overlapped"});
  CHECK_FALSE(result.ladder[0].pinned);
  CHECK(result.ladder[0].prefetch == 0);
  CHECK_FALSE(result.ladder[0].factor);
  CHECK(result.ladder[1].pinned);
  CHECK(result.ladder[2].normalize == NormalizeKind::gpu);
  CHECK(result.ladder[3].decode == DecodeKind::nvjpeg);
  for (std::size_t i = 1; i < 5; ++i) {
    CHECK(*result.ladder[i].factor ==
          doctest::Approx(*result.ladder[i].samples_per_second / *result.ladder[i - 1].samples_per_second));
  }
  CHECK(result.prefetch == 3);
  CHECK(result.samples == 20);
  REQUIRE(result.jpegs);
  CHECK(result.jpegs->engines[0] == 20);
  CHECK(result.jpegs->gpu_ratio == 1);
  CHECK(result.cache.requested == CacheRequest::warm);
  CHECK(decoder.given(JpegEngine::hardware) == 40);
  CHECK(device.allocations() == 0);
}

TEST_CASE("a rung whose library is missing says why, and the last one decodes on the processor") {
  FakeDevice device;
  const RecordedTree tree;
  const PipelineResult result =
      climb(ladder_options(), {tree, {&device}, [](const Device&, unsigned) -> std::unique_ptr<DeviceJpegDecoder> {
                                 throw Error(ErrorCode::unsupported, "no nvJPEG here");
                               }});
  REQUIRE(result.ladder.size() == 5);
  CHECK(*result.ladder[3].missing == "no nvJPEG here");
  CHECK_FALSE(result.ladder[3].samples_per_second);
  CHECK_FALSE(result.ladder[4].missing);
  CHECK(result.ladder[4].decode == DecodeKind::cpu);
  CHECK(*result.ladder[4].factor ==
        doctest::Approx(*result.ladder[4].samples_per_second / *result.ladder[2].samples_per_second));
  CHECK_FALSE(result.jpegs);
}

TEST_CASE("without a GPU there is no ladder") {
  const RecordedTree tree;
  const auto failure = failure_of([&] { climb(ladder_options(), {tree}); });
  CHECK(failure == ErrorCode::unsupported);
}

TEST_CASE("options that the ladder sets itself, or that are of one run, are usage errors") {
  CHECK(refusal([](auto&) {}).empty());
  CHECK(refusal([](auto& o) { o.backend = DecodeKind::nvjpeg; }).starts_with("--backend: --ladder sets it"));
  CHECK(refusal([](auto& o) { o.prefetch = "1"; }).starts_with("--prefetch: with --ladder"));
  CHECK(refusal([](auto& o) { o.prefetch = "2,4"; }).starts_with("--prefetch: with --ladder"));
  CHECK(refusal([](auto& o) { o.trace = "t.json"; }).starts_with("--trace"));
  CHECK(refusal([](auto& o) {
          o.device = "none";
        }).starts_with("--ladder needs a GPU, which --device none does not use"));
}
