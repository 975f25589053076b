#include "bench/run/run.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/bench_data.hpp"
#include "io/file.hpp"
#include "io/read_engine.hpp"
#include "support/errors.hpp"
#include "support/fake_device.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::io;
using namespace shardkit::system;
using namespace shardkit::test;

namespace {

RunOptions run_options(const std::string& path) {
  RunOptions options;
  options.paths = {path};
  options.budget = 0.4;
  return options;
}

RunResult run_quietly(const RunOptions& options) {
  Context context;
  return run(options, context);
}

ErrorCode code_of(const RunOptions& options) {
  return error_code_of([&] { run_quietly(options); });
}

/// The text of the warning `code`; empty without one.
std::string warning_of(const Context& context, std::string_view code) {
  for (const shardkit::Finding& warning : context.warnings()) {
    if (warning.code == code) return warning.text;
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("without a job the verdict names what the node feeds") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(200, "a"));
  RunOptions options = run_options(folder.path());
  options.budget = 4;  // so that a busy machine comes to each stage
  const RunResult result = run_quietly(options);
  CHECK(result.read.samples == 200);
  REQUIRE(result.decode);
  CHECK(result.decode->crop == 224);
  CHECK(result.summary.presets.size() == presets().size());
  CHECK(result.environment.usable_threads > 0);
  REQUIRE(result.decode->augment);
  REQUIRE(result.pipeline);
  CHECK(result.pipeline->source == SourceForm::shards);
  CHECK(result.summary.predicted.of_measured_ratio);
  CHECK_FALSE(result.file_costs);
  CHECK_FALSE(result.transfer.measured);
  CHECK_FALSE(result.has_findings());
  CHECK(result.command == "iobench run " + folder.path() + " --budget 4");
}

TEST_CASE("if there is a GPU, its copies are a stage of the run, in every repetition") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(60, "a"));
  RunOptions options = run_options(folder.path());
  options.crop = 32;
  options.gpus = 2;
  options.batch = 50;
  options.step_time = 1000;
  options.repeat = 2;
  shardkit_test::FakeDevice device({.to_device = 10e9, .copy_seconds = 0});
  const GpuMachine gpus{live_probe(), {&device}};
  Context context;
  const RunResult result = run(options, gpus, context);
  CHECK(result.transfer.measured);
  CHECK(result.transfer.sample_bytes == 3 * 32 * 32 * 4);
  CHECK(result.transfer.copy_bytes == 50 * 3 * 32 * 32 * 4);
  CHECK(*result.transfer.pinned_h2d == doctest::Approx(10e9));
  const StageTableRow& row = result.summary.stage_table.back();
  CHECK(row.stage == "transfer");
  CHECK(*row.measured_per_second == doctest::Approx(2 * 10e9 / (3 * 32 * 32 * 4)));
  REQUIRE(result.repetitions.size() == 2);
  CHECK(result.repetitions.back().result.transfer.pinned_h2d == doctest::Approx(10e9));
  CHECK(result.repeated.back().metric == "transfer.pinned_h2d_bytes_per_second");
}

TEST_CASE("of image files it tells what each call takes, and what shards would spare") {
  const TempDir dir;
  for (std::uint32_t i = 0; i < 20; ++i) write_file(dir.path("c/" + std::to_string(i) + ".jpg"), small_jpeg(i));
  RunOptions options = run_options(dir.path());
  options.budget = 4;
  const RunResult result = run_quietly(options);
  REQUIRE(result.pipeline);
  CHECK(result.pipeline->source == SourceForm::files);
  CHECK_FALSE(result.summary.predicted.of_measured_ratio);  // a single step is no rate
  REQUIRE(result.file_costs);
  CHECK(result.file_costs->files > 0);
  CHECK(result.file_costs->files <= 20);
  CHECK(result.file_costs->other_ratio > 0);
  CHECK(result.file_costs->other_ratio < 1);
}

TEST_CASE("a job that no node can feed is a finding with a stage and a remedy") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(30, "a"));
  RunOptions options = run_options(folder.path());
  options.force_verdict = true;  // also on a busy machine
  options.gpus = 1000;
  options.batch = 100'000;
  options.step_time = 0.001;
  const RunResult result = run_quietly(options);
  CHECK(result.has_findings());
  CHECK_FALSE(result.summary.verdict.remedy.empty());
  CHECK(result.summary.verdict.limiting_stage != "compute");
  CHECK(result.summary.requirement->samples_per_second == doctest::Approx(1e11));
}

TEST_CASE("a job that a node feeds easily is none, with whole images too") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(30, "a"));
  RunOptions options = run_options(folder.path());
  options.crop = 0;
  options.batch = 1;
  options.step_time = 10;
  const RunResult result = run_quietly(options);
  CHECK_FALSE(result.has_findings());
  CHECK(result.summary.verdict.limiting_stage == "compute");
  CHECK_FALSE(result.decode->crop);
  CHECK_FALSE(result.pipeline);  // its batches are of crops
}

TEST_CASE("where cold cannot be had the first line says warm, unless cold was insisted on") {
  const std::string path = "/dev/shm/shardkit-run-" + std::to_string(::getpid()) + ".tar";
  write_file(path, image_shard(5, "m").bytes());
  RunOptions options = run_options(path);
  Context context;
  const RunResult result = run(options, context);
  CHECK(result.read.cache.state == CacheState::warm);
  CHECK(contains(result.summary.verdict.text, "warm page cache"));
  const auto warnings = context.warnings();
  CHECK(std::any_of(warnings.begin(), warnings.end(), [](const shardkit::Finding& w) { return w.code == "not_cold"; }));
  options.cache = RunCache::cold;
  CHECK(code_of(options) == ErrorCode::unsupported);
  std::filesystem::remove(path);
}

TEST_CASE("if the cache cannot be dropped, reads bypass it and the report says so, in every repetition") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(200, "a"));
  const std::string path = folder.path("a.tar");
  const File file = File::open_read(path);
  try {
    make_read_engine(EngineKind::pread, {.direct = true})->open(path);
  } catch (const Error& error) {
    MESSAGE("SKIPPED: ", error.what());
    return;
  }
  // What a process maps stays in the cache.
  void* const map = ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED | MAP_POPULATE, file.fd(), 0);
  REQUIRE(map != MAP_FAILED);
  RunOptions options = run_options(path);
  options.budget = 2;
  options.repeat = 2;
  Context context;
  const RunResult result = run(options, context);
  ::munmap(map, file.size());
  CHECK(result.read.direct);
  CHECK(result.read.cache.state == CacheState::direct);
  for (const auto& one : result.repetitions) CHECK(one.result.read.cache.state == CacheState::direct);
  CHECK(contains(result.summary.verdict.text, "bypassed the page cache (O_DIRECT)"));
  CHECK(contains(result.summary.stage_table.front().note, ", direct"));
  REQUIRE(result.pipeline);
  CHECK(result.pipeline->cache.state == CacheState::warm);
  CHECK(result.summary.stage_table.back().stage != "pipeline");  // it read what was in the cache
  CHECK(contains(warning_of(context, "not_cold"), "--cache auto used the next state"));
  CHECK_FALSE(contains(warning_of(context, "not_cold"), "use --cache"));  // which would measure less than this did
  CHECK(contains(warning_of(context, "pipeline_cached"), "Its rate does not show the speed of storage"));
  CHECK(warning_of(context, "not_direct").empty());
}

TEST_CASE("loader processes that find no shard, and batches that /dev/shm cannot hold, are warned of") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(3, "a"));
  RunOptions options = run_options(folder.path());
  options.workers = 100'000;
  Context context;
  const RunResult shards = run(options, context);
  CHECK(contains(warning_of(context, "workers_above_shards"), "1 loader processes per GPU instead of 100000"));
  CHECK(shards.summary.loader.workers == 1);
  options.prefetch = 1'000'000;
  run(options, context);
  CHECK(contains(warning_of(context, "dev_shm_too_small"), "0 loader processes per GPU"));
}

TEST_CASE("a shard that was cut off is warned of and spoils nothing") {
  const ShardFolder folder;
  const std::string whole = image_shard(8, "k").bytes();
  folder.write("a.tar", image_shard(30, "a"));
  folder.write("cut.tar", whole.substr(0, whole.size() / 2));
  Context context;
  const RunResult result = run(run_options(folder.path()), context);
  CHECK(result.read.samples > 30);
  REQUIRE(result.decode);
  CHECK(result.decode->failures.total == 0);
  const auto warnings = context.warnings();
  CHECK(std::ranges::any_of(warnings, [](const shardkit::Finding& w) { return w.code == "damaged_shard"; }));
}

TEST_CASE("a file too large for the budget is no folder without samples") {
  const ShardFolder folder;
  folder.write("volume.bin", "");
  std::filesystem::resize_file(folder.path("volume.bin"), std::uint64_t{1} << 40U);
  RunOptions options = run_options(folder.path("volume.bin"));
  options.cache = RunCache::any;
  const auto failure = shardkit_test::failure_of([&] { run_quietly(options); });
  CHECK(failure == ErrorCode::usage);
  CHECK(failure.says("read to its end, and each counts as one sample; use a longer --budget"));
}

TEST_CASE("jobs and data that make no sense are errors before anything is measured") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(3, "a"));
  folder.write("none/b.tar", TarBuilder().end());
  const auto broken = [&](auto change) {
    RunOptions options = run_options(folder.path());
    change(options);
    return code_of(options);
  };
  CHECK(broken([](RunOptions& o) { o.gpus = 8; }) == ErrorCode::usage);
  CHECK(broken([](RunOptions& o) { o.batch = 8; }) == ErrorCode::usage);
  CHECK(broken([](RunOptions& o) { o.preset = "nothing-like-it"; }) == ErrorCode::usage);
  CHECK(broken([](RunOptions& o) { o.budget = 0; }) == ErrorCode::usage);
  CHECK(broken([](RunOptions& o) { o.threads = 0; }) == ErrorCode::usage);
  CHECK(broken([](RunOptions& o) { o.crop = 10'000; }) == ErrorCode::usage);
  CHECK(broken([](RunOptions& o) { o.paths = {}; }) == ErrorCode::usage);
  CHECK(code_of(run_options(folder.path("none"))) == ErrorCode::not_found);
  CHECK(code_of(run_options(folder.path("missing"))) == ErrorCode::not_found);
}

TEST_CASE("the seconds of read belong to its bytes: reading with more requests is another measurement") {
  const ShardFolder folder;
  folder.write("a.tar", image_shard(200, "a"));
  RunOptions options = run_options(folder.path());
  options.budget = 4;
  options.cache = RunCache::direct;  // reads again for a second, so that there is something to count
  const RunResult result = run_quietly(options);
  std::uint64_t bytes = 0;
  for (const SecondRow& row : result.seconds) bytes += row.stage == stage::kRead ? row.bytes : 0;
  CHECK(result.more_readers);
  CHECK(bytes > 0);
  CHECK(bytes <= result.read.bytes);
}
