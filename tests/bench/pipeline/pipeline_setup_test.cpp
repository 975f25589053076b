#include "bench/pipeline/pipeline_setup.hpp"

#include <limits>

#include <doctest/doctest.h>

#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::stats;
using shardkit_test::failure_of;

namespace {

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

PipelineOptions plain() {
  PipelineOptions options;
  options.paths = {"data"};
  return options;
}

/// The text of the usage error that a change to plain options ends in; empty when they are fine.
template <class Change>
std::string refusal(const Change& change) {
  PipelineOptions options = plain();
  change(options);
  const auto failure = failure_of([&] { set_up(options); });
  if (failure.failed) CHECK(failure == ErrorCode::usage);
  return failure.text;
}

}  // namespace

TEST_CASE("prefetch is a list of numbers") {
  CHECK(parse_prefetches("2") == std::vector<std::uint64_t>{2});
  CHECK(parse_prefetches("0,1,2,4") == std::vector<std::uint64_t>{0, 1, 2, 4});
  for (const char* text : {"", ",", "1,", ",1", "a", "1;2", "-1", "65", "1 ", "99999999999999999999"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { parse_prefetches(text); }) == ErrorCode::usage);
  }
}

TEST_CASE("a preset says batch and step time, and either can be replaced") {
  PipelineOptions options = plain();
  options.preset = "resnet50-h100";
  options.gpus = 8;
  CHECK(set_up(options).loader.batch == 400);
  CHECK(set_up(options).step.step_seconds == 0.224);
  CHECK(set_up(options).loader.gpus == 8);
  options.batch = 32;
  options.step_time = 0.1;
  CHECK(set_up(options).loader.batch == 32);
  CHECK(set_up(options).step.step_seconds == 0.1);
}

TEST_CASE("a preset that is not about images is refused") {
  CHECK(refusal([](PipelineOptions& o) { o.preset = "unet3d-h100"; }).find("unet3d-h100") != std::string::npos);
}

TEST_CASE("absurd options of the pipeline are usage errors that name the option") {
  using Options = PipelineOptions;
  CHECK(refusal([](Options&) {}).empty());
  CHECK(refusal([](Options& o) { o.workers = 0; }).starts_with("-j, --workers"));
  CHECK(refusal([](Options& o) { o.workers = kHuge; }).starts_with("-j, --workers"));
  CHECK(refusal([](Options& o) { o.gpus = 0; }).starts_with("--gpus"));
  CHECK(refusal([](Options& o) { o.batch = 0; }).starts_with("--batch"));
  CHECK(refusal([](Options& o) { o.batch = kHuge; }).starts_with("--batch"));
  CHECK(refusal([](Options& o) { o.epochs = 0; }).starts_with("--epochs"));
  CHECK(refusal([](Options& o) { o.crop = 0; }).starts_with("--crop"));
  CHECK(refusal([](Options& o) { o.crop = 1ULL << 40U; }).starts_with("--crop"));
  CHECK(refusal([](Options& o) { o.samples = 0; }).starts_with("--samples"));
  CHECK(refusal([](Options& o) { o.step_time = 1e9; }).starts_with("--step-time"));
  CHECK(refusal([](Options& o) { o.budget = 0; }).starts_with("--budget"));
}

TEST_CASE("batches that do not fit into memory are refused before any is made") {
  PipelineOptions options = plain();
  options.gpus = 1024;
  options.batch = 1U << 20U;
  options.crop = 8192;
  const auto failure = failure_of([&] { check_batch_memory(set_up(options), 0); });
  CHECK(failure == ErrorCode::no_space);
  CHECK(failure.says("--batch"));
}

TEST_CASE("batches that a GPU decodes hold their compressed images until then") {
  constexpr double kHugeImage = 1e15;
  PipelineOptions options = plain();
  check_batch_memory(set_up(options), kHugeImage);
  options.backend = DecodeKind::nvjpeg;
  check_batch_memory(set_up(options), 100'000);
  CHECK(failure_of([&] { check_batch_memory(set_up(options), kHugeImage); }) == ErrorCode::no_space);
}

TEST_CASE("memory for batches grows with prefetch and GPUs, and there is always one for each GPU") {
  LoaderSettings settings;
  settings.gpus = 4;
  settings.prefetch = 0;
  CHECK(batches_in_memory(settings) == 4);
  settings.prefetch = 3;
  CHECK(batches_in_memory(settings) == 12);
}

TEST_CASE("images that wait for workers are bounded by bytes, however large they are said to be") {
  LoaderSettings settings;
  CHECK(queue_bytes(settings, 0) == 1U << 20U);
  CHECK(queue_bytes(settings, 1e18) <= 256U << 20U);
  settings.batch = 10;
  settings.prefetch = 2;
  CHECK(queue_bytes(settings, 100'000) == 2'000'000);
}
