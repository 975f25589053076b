#include "bench/pipeline/loader.hpp"

#include <algorithm>
#include <utility>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/pipeline/pipeline_fakes.hpp"
#include "bench/pipeline/pipeline_setup.hpp"
#include "bench/pipeline/step_loop.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::image;
using namespace shardkit::test;
using shardkit_test::failure_of;

namespace {

LoaderSettings small_settings() {
  LoaderSettings settings;
  settings.batch = 4;
  settings.readers = 2;
  settings.workers = 3;
  settings.crop = 8;
  settings.type = TensorType::u8;
  return settings;
}

constexpr std::size_t kSampleBytes = 3 * 8 * 8;

/// Runs epochs with steps that take no time.
StepLog run(const LoaderSettings& settings, ImageSource& source, BatchSink& sink, LoaderTally& tally,
            std::uint64_t epochs = 1) {
  Context context;
  Loader loader(settings, source, sink, nullptr, context);
  StepLoop loop({}, sink, nullptr);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) loop.run_epoch(loader, epoch);
  tally = loader.tally();
  return loop.log();
}

std::vector<std::size_t> batch_sizes(const FakeSink& sink) {
  std::vector<std::size_t> sizes;
  for (const auto& batch : sink.batches) sizes.push_back(batch.size() / kSampleBytes);
  return sizes;
}

}  // namespace

TEST_CASE("every sample is in one batch, whatever the prefetch and the numbers of threads and GPUs") {
  for (const std::uint64_t prefetch : {0U, 1U, 2U, 5U}) {
    for (const std::uint64_t gpus : {1U, 3U}) {
      for (const unsigned workers : {1U, 7U}) {
        FakeSource source(small_jpeg(), 22);
        FakeSink sink;
        LoaderSettings settings = small_settings();
        settings.prefetch = prefetch;
        settings.gpus = gpus;
        settings.workers = workers;
        LoaderTally tally;
        const StepLog log = run(settings, source, sink, tally, 2);
        CAPTURE(prefetch);
        CAPTURE(gpus);
        CHECK(log.samples() == 44);
        CHECK(log.steps() == 2 * (gpus == 1 ? 6 : 2));
        CHECK(tally.decoded == 44);
        CHECK(tally.read_samples == 44);
        CHECK(sink.batches.size() == 12);
        CHECK(sink.released.size() == 12);
        CHECK(sink.memory_bytes.size() == gpus * std::max<std::uint64_t>(prefetch, 1));
        CHECK(sink.most_in_use <= gpus * (prefetch + 1));
      }
    }
  }
}

TEST_CASE("several devices take batches at the same time, in turns, and each step has one of each GPU") {
  for (const std::uint64_t prefetch : {1U, 3U}) {
    FakeSource source(small_jpeg(), 24);
    FakeSink sink;
    sink.number = 2;
    sink.together.emplace(2);
    LoaderSettings settings = small_settings();
    settings.gpus = 2;
    settings.prefetch = prefetch;
    LoaderTally tally;
    const StepLog log = run(settings, source, sink, tally);
    CHECK(log.steps() == 3);
    CHECK(log.samples() == 24);
    CHECK(std::ranges::count(sink.gpus, 0U) == 3);
    CHECK(std::ranges::count(sink.gpus, 1U) == 3);
    CHECK(tally.transfer_threads == 2);
  }
}

TEST_CASE("steps whose batches come after the time is over are taken but not counted, once there are five") {
  FakeSource source(small_jpeg(), 40);
  FakeSink sink;
  Context context;
  Loader loader(small_settings(), source, sink, nullptr, context);
  StepLoop loop({}, sink, nullptr);
  loop.count_until(std::chrono::steady_clock::now());
  loop.run_epoch(loader, 0);
  CHECK(sink.released.size() == 10);
  CHECK(loop.log().steps() == 5);
  CHECK(loop.epochs().front().steps() == 5);
}

TEST_CASE("batches hold decoded samples, and the last of an epoch is short") {
  FakeSource source(small_jpeg(), 10);
  FakeSink sink;
  LoaderTally tally;
  run(small_settings(), source, sink, tally);
  CHECK(batch_sizes(sink) == std::vector<std::size_t>{4, 4, 2});
  const auto& first = sink.batches.front();
  CHECK(std::ranges::any_of(first, [](std::byte value) { return value != std::byte{0}; }));
}

TEST_CASE("batches go to the GPUs in turn") {
  FakeSource source(small_jpeg(), 16);
  FakeSink sink;
  LoaderSettings settings = small_settings();
  settings.gpus = 2;
  LoaderTally tally;
  run(settings, source, sink, tally);
  CHECK(sink.gpus == std::vector<unsigned>{0, 1, 0, 1});
}

TEST_CASE("images that cannot be decoded are counted and leave no hole") {
  FakeSource source("no JPEG at all", 9);
  FakeSink sink;
  LoaderTally tally;
  const StepLog log = run(small_settings(), source, sink, tally);
  CHECK(log.steps() == 0);
  CHECK(tally.failures.not_jpeg == 9);
  CHECK(tally.decoded == 0);
}

TEST_CASE("without decoding, batches are filled all the same") {
  FakeSource source("anything", 9);
  FakeSink sink;
  LoaderSettings settings = small_settings();
  settings.decode = DecodeKind::null;
  LoaderTally tally;
  CHECK(run(settings, source, sink, tally).samples() == 9);
  CHECK(tally.failures.total == 0);
}

TEST_CASE("with no prefetch nothing is made before a step asks") {
  FakeSource source(small_jpeg(), 8);
  FakeSink sink;
  LoaderSettings settings = small_settings();
  settings.prefetch = 0;
  Context context;
  Loader loader(settings, source, sink, nullptr, context);
  loader.start_epoch(0);
  for (int step = 1; step <= 2; ++step) {
    loader.ask_for_step();
    REQUIRE(loader.next(0));
    CHECK(context.progress().items.load() == static_cast<std::uint64_t>(step) * 4);  // and not one more
  }
  loader.ask_for_step();
  CHECK_FALSE(loader.next(0));
  loader.finish_epoch();
}

TEST_CASE("a failing reader ends all, with its own words") {
  FakeSource source(small_jpeg(), 1000);
  source.fails_at = 30;
  FakeSink sink;
  LoaderTally tally;
  const auto failure = failure_of([&] { run(small_settings(), source, sink, tally); });
  CHECK(failure == ErrorCode::io);
  CHECK(failure.says("the disk went away"));
  CHECK(failure.path == "/disk");
}

TEST_CASE("a failing hand-over ends all") {
  FakeSource source(small_jpeg(), 1000);
  FakeSink sink;
  sink.fails = true;
  LoaderTally tally;
  CHECK(failure_of([&] { run(small_settings(), source, sink, tally); }).says("the bus went away"));
}

TEST_CASE("a stop from outside ends an epoch early") {
  std::stop_source stop;
  Context context(stop.get_token());
  FakeSource source(small_jpeg(), std::numeric_limits<std::uint64_t>::max());
  FakeSink sink;
  Loader loader(small_settings(), source, sink, nullptr, context);
  loader.start_epoch(0);
  REQUIRE(loader.next(0));
  stop.request_stop();
  CHECK_FALSE(loader.next(0));
  loader.finish_epoch();
}

TEST_CASE("each thread has a track, also over several epochs") {
  FakeSource source(small_jpeg(), 8);
  FakeSink sink;
  TraceLog trace(7, std::chrono::steady_clock::now());
  Context context;
  Loader loader(small_settings(), source, sink, &trace, context);
  StepLoop loop({}, sink, &trace);
  loop.run_epoch(loader, 0);
  const std::uint64_t once = trace.events();
  CHECK(once > 0);
  loop.run_epoch(loader, 1);
  CHECK(trace.events() > once);
  CHECK(trace.track("worker 2").size() > 0);
  CHECK(trace.track("step").size() > 0);
}
