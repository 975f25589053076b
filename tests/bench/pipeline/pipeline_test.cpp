#include "bench/pipeline/pipeline.hpp"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "bench/bench_data.hpp"
#include "bench/pipeline/pipeline_fakes.hpp"
#include "bench/pipeline/pipeline_report.hpp"
#include "bench/pipeline/pipeline_setup.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;
using shardkit_test::failure_of;

namespace {

PipelineOptions options_for(const std::string& path) {
  PipelineOptions options;
  options.paths = {path};
  options.batch = 4;
  options.workers = 2;
  options.crop = 16;
  return options;
}

PipelineResult run(const PipelineOptions& options) {
  Context context;
  return pipeline(options, context);
}

ErrorCode code_of(const PipelineOptions& options) {
  return error_code_of([&] { run(options); });
}

/// A run over a source of our own.
PipelineRun run_over(FakeSource& source, double step_seconds, unsigned workers = 2) {
  const auto sink = host_sink();
  LoaderSettings loader;
  loader.batch = 4;
  loader.crop = 16;
  loader.workers = workers;
  Context context;
  return run_pipeline({source, *sink, {}}, loader, {step_seconds}, nullptr, context);
}

std::string limiting_stage(const PipelineRun& done) {
  return judge_pipeline(pipeline_shares(done), done.loader.prefetch).limiting_stage;
}

}  // namespace

TEST_CASE("shards and image files go through, and the result says which it was") {
  const ShardFolder folder;
  folder.write("shards/a.tar", image_shard(10, "a"));
  for (int i = 0; i < 10; ++i) folder.write("images/c/" + std::to_string(i) + ".jpg", small_jpeg());
  for (const char* name : {"shards", "images"}) {
    const PipelineResult result = run(options_for(folder.path(name)));
    CHECK(enum_name(result.source) == (std::string(name) == "shards" ? "shards" : "files"));
    CHECK(result.samples == 10);
    CHECK(result.steps == 3);
    CHECK(result.failures.total == 0);
    CHECK(result.samples_per_second > 0);
    CHECK_FALSE(result.au_ratio);
    CHECK(result.batch_memory == 2 * 4 * 16 * 16 * 3 * 4);
  }
}

TEST_CASE("each stage's shares sum up to one") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(20, "a"));
  PipelineOptions options = options_for(folder.path());
  options.step_time = 0.001;
  const PipelineResult result = run(options);
  std::vector<std::string> names;
  for (const StageRow& row : result.stages) {
    names.push_back(row.name);
    CHECK(row.busy_ratio + row.starved_ratio + row.blocked_ratio == doctest::Approx(1));
    CHECK(row.busy_ratio >= 0);
    CHECK(row.blocked_ratio >= 0);
  }
  CHECK(names == std::vector<std::string>{"read", "decode", "augment", "transfer", "compute"});
  CHECK(result.au_ratio.has_value());
  CHECK(*result.required_samples_per_second == doctest::Approx(4000));
}

TEST_CASE("each stage has the time of its threads: what it works, what it waits for and what holds it back") {
  using enum Activity;
  PipelineRun run{{}, {}, StepLog(0), {}, {}, {}, {}};
  run.loader.readers = 3;
  run.loader.workers = 4;
  run.tally.decoded = 10;
  const auto spend = [](ActivityTimes& times, Activity activity, double wall, double cpu) {
    times.wall[static_cast<std::size_t>(activity)] = wall;
    times.cpu[static_cast<std::size_t>(activity)] = cpu;
  };
  spend(run.tally.readers, read, 5, 1);
  spend(run.tally.readers, blocked, 3, 0.2);
  spend(run.tally.readers, starved, 2, 0.1);
  spend(run.tally.workers, decode, 10, 9);
  spend(run.tally.workers, augment, 4, 3);
  spend(run.tally.workers, starved, 5, 0.5);
  spend(run.tally.workers, blocked, 1, 0.25);
  spend(run.tally.transfer, transfer, 2, 1);
  spend(run.tally.transfer, decode, 1, 0.75);
  spend(run.tally.transfer, starved, 4, 0.125);
  spend(run.tally.transfer, blocked, 1, 0.125);
  spend(run.step_times, compute, 6, 2);
  spend(run.step_times, starved, 4, 0.25);

  const auto row = [](const char* name, std::uint64_t threads, double busy, double starving, double held, double cpu) {
    return fmt::format("{} {} {:.4f} {:.4f} {:.4f} {:.4f}", name, threads, busy, starving, held, cpu);
  };
  std::vector<std::string> rows;
  for (const StageRow& stage : stage_rows(run)) {
    rows.push_back(row(stage.name.c_str(), stage.threads, stage.busy_ratio, stage.starved_ratio, stage.blocked_ratio,
                       stage.cpu_seconds_per_sample));
  }
  CHECK(rows == std::vector<std::string>{
                    row("read", 3, 0.5, 0.2, 0.3, 0.13),      // the time of waits is in the row of its threads
                    row("decode", 4, 0.5, 0.25, 0.25, 1.05),  // blocked: augmenting too, which the thread does next
                    row("augment", 4, 0.2, 0.75, 0.05, 0.3),  // starved: while it decodes
                    row("transfer", 1, 0.25, 0.625, 0.125, 0.125),  // decoding on a GPU is the row "decode"
                    row("compute", 1, 0.6, 0.4, 0, 0.225),
                });
  double sum = 0;
  for (const StageRow& stage : stage_rows(run)) sum += stage.cpu_seconds_per_sample;
  CHECK(sum == doctest::Approx(cpu_seconds_per_sample(run)));
}

TEST_CASE("processor time of the stages is that of all threads") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(20, "a"));
  const PipelineResult result = run(options_for(folder.path()));
  double sum = 0;
  for (const StageRow& row : result.stages) sum += row.cpu_seconds_per_sample;
  CHECK(sum == doctest::Approx(result.cpu_seconds_per_sample));
  CHECK(result.stages[1].cpu_seconds_per_sample > 0);
}

TEST_CASE("a source that is slow by construction is the stage that limits") {
  FakeSource slow(small_jpeg(), 24);
  slow.delay = std::chrono::milliseconds(20);
  CHECK(limiting_stage(run_over(slow, 0)) == "read");
}

TEST_CASE("steps that are slow by construction are fed") {
  FakeSource source(small_jpeg(), 24);
  CHECK(limiting_stage(run_over(source, 0.1)) == "compute");
}

TEST_CASE("threads that are done before the epoch ends are not those that limit") {
  FakeSource all_ahead(small_jpeg(), 24);
  all_ahead.delay = std::chrono::milliseconds(2);
  LoaderSettings loader;
  loader.batch = 4;
  loader.crop = 16;
  loader.workers = 2;
  loader.prefetch = 6;
  const auto sink = host_sink();
  Context context;
  const PipelineRun done = run_pipeline({all_ahead, *sink, {}}, loader, {0.1}, nullptr, context);
  CHECK(limiting_stage(done) == "compute");
  CHECK(stage_rows(done).front().starved_ratio > 0.5);
}

TEST_CASE("a budget that ends before the first image is said to be too short") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(20, "a"));
  PipelineOptions options = options_for(folder.path());
  options.budget = 1e-9;
  const auto failure = failure_of([&] { run(options); });
  CHECK(failure == ErrorCode::usage);
  CHECK(failure.says("--budget: no image was read from"));
}

TEST_CASE("a trace that cannot be written is said before anything is measured") {
  const TempDir dir;
  write_file(dir.path("c/a.jpg"), "no JPEG, which measuring would find");
  PipelineOptions options = options_for(dir.path("c"));
  options.trace = dir.path("none/trace.json");
  const auto failure = failure_of([&] { run(options); });
  CHECK(failure == ErrorCode::not_found);
  CHECK(failure.says("/none/"));
}

TEST_CASE("epochs are distinguished, and all but the first have a boundary") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(9, "a"));
  PipelineOptions options = options_for(folder.path());
  options.epochs = 3;
  options.cache = CacheRequest::warm;
  const PipelineResult result = run(options);
  REQUIRE(result.epochs.size() == 3);
  CHECK(result.samples == 27);
  CHECK_FALSE(result.epochs[0].boundary_stall_seconds);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(result.epochs[i].epoch == i + 1);
    CHECK(result.epochs[i].samples == 9);
    CHECK(result.epochs[i].steps == 3);
    if (i > 0) CHECK(*result.epochs[i].boundary_stall_seconds >= 0);
  }
  CHECK(result.cache.state == CacheState::warm);
}

TEST_CASE("each value of prefetch has a row, and all other values are of the last") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(12, "a"));
  PipelineOptions options = options_for(folder.path());
  options.prefetch = "0,1,4";
  const PipelineResult result = run(options);
  REQUIRE(result.prefetches.size() == 3);
  CHECK(result.prefetches[0].prefetch == 0);
  CHECK(result.prefetches[2].prefetch == 4);
  CHECK(result.prefetch == 4);
  CHECK(result.prefetches[2].samples_per_second == result.samples_per_second);
}

TEST_CASE("no more samples an epoch than asked for") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(30, "a"));
  PipelineOptions options = options_for(folder.path());
  options.samples = 6;
  CHECK(run(options).samples == 6);
}

TEST_CASE("images that cannot be decoded are counted by kind and left out") {
  const TempDir dir;
  for (int i = 0; i < 6; ++i) write_file(dir.path("c/" + std::to_string(i) + ".jpg"), small_jpeg());
  write_file(dir.path("c/text.jpg"), "no JPEG");
  write_file(dir.path("c/empty.jpg"), "");
  const PipelineResult result = run(options_for(dir.path()));
  CHECK(result.samples == 6);
  CHECK(result.failures.total == 2);
}

TEST_CASE(
    "one sample alone has a rate, no utilization, and a warning, and fewer steps than a rate needs are warned of") {
  const TempDir dir;
  write_file(dir.path("a.jpg"), small_jpeg());
  PipelineOptions options = options_for(dir.path());
  options.step_time = 0.001;
  for (const std::uint64_t epochs : {1, 4, 5}) {
    CAPTURE(epochs);
    options.epochs = epochs;
    Context context;
    const PipelineResult result = pipeline(options, context);
    CHECK(result.samples == epochs);
    CHECK(result.au_ratio.has_value() == (epochs > 1));
    CHECK(has_warning(context, "few_steps") == (epochs < 5));
  }
}

TEST_CASE("no images, none that decode, or too few for a batch that has to be full is an error") {
  const ShardFolder folder;
  folder.write("labels/a.tar", TarBuilder().file("k.cls", "1").end());
  folder.write("texts/a.txt/readme.md", "no image");
  folder.write("broken/a.jpg", "no JPEG");
  folder.write("one/a.jpg", small_jpeg());
  CHECK(code_of(options_for(folder.path("labels"))) == ErrorCode::not_found);
  CHECK(code_of(options_for(folder.path("texts"))) == ErrorCode::not_found);
  CHECK(code_of(options_for(folder.path("missing"))) == ErrorCode::not_found);
  CHECK(code_of(options_for(folder.path("broken"))) == ErrorCode::corrupt);
}

TEST_CASE("a stop is an error of its own") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(9, "a"));
  std::stop_source stop;
  stop.request_stop();
  Context context(stop.get_token());
  CHECK(failure_of([&] { pipeline(options_for(folder.path()), context); }) == ErrorCode::cancelled);
}
