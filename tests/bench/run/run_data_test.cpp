#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/run/run.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::test;
using shardkit_test::failure_of;

namespace {

RunOptions run_options(const std::string& path) {
  RunOptions options;
  options.paths = {path};
  options.budget = 0.4;
  return options;
}

auto failure(const RunOptions& options) {
  return failure_of([&] {
    Context context;
    run(options, context);
  });
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The text of the warning `code`; empty without one.
std::string warning_of(const Context& context, std::string_view code) {
  for (const shardkit::Finding& warning : context.warnings()) {
    if (warning.code == code) return warning.text;
  }
  return {};
}

/// A JPEG of which less than half is left.
std::string cut_jpeg(std::uint32_t number = 0) {
  const std::string jpeg = small_jpeg(number);
  return jpeg.substr(0, jpeg.size() / 3);
}

}  // namespace

TEST_CASE("data without images is judged by reading alone") {
  const TempDir dir;
  write_file(dir.path("tensors.bin"), std::string(100'000, 't'));
  RunOptions options = run_options(dir.path());
  Context first;
  const RunResult result = run(options, first);
  CHECK_FALSE(result.decode);
  CHECK(contains(result.summary.verdict.text, "no JPEG, PNG or WebP: decoding not measured"));
  options.preset = "unet3d-a100";
  Context context;
  const Verdict verdict = run(options, context).summary.verdict;
  std::string words = verdict.text;
  for (const std::string& note : verdict.notes) words += "; " + note;
  CHECK(contains(words, "; no JPEG, PNG or WebP: decoding not measured"));
  CHECK(contains(warning_of(context, "nothing_to_decode"), "found no images in '" + dir.path() + "'"));
}

TEST_CASE("a job of JPEGs cannot be judged by other data: what was named is reported, and what to do") {
  const TempDir dir;
  write_file(dir.path("docs/a.md"), "# text");
  write_file(dir.path("docs/b.md"), "# more");
  RunOptions options = run_options(dir.path("docs"));
  options.preset = "resnet50-a100";
  const auto error = failure(options);
  CHECK(error == ErrorCode::not_found);
  CHECK(error.says("found no images in '" + dir.path("docs") + "', but samples of resnet50-a100 are images"));
  CHECK(error.says("another --preset"));
}

TEST_CASE("images of which none can be decoded are an error, with a preset of JPEGs, another job, and without one") {
  const TempDir dir;
  write_file(dir.path("bad/cut.jpg"), cut_jpeg());
  write_file(dir.path("bad/text.jpg"), "no JPEG");
  write_file(dir.path("bad/empty.jpg"), "");
  RunOptions options = run_options(dir.path("bad"));
  const auto error = failure(options);
  CHECK(error == ErrorCode::corrupt);
  CHECK(error.says("none of 3 images from '" + dir.path("bad") + "' can be decoded (2 of another"));
  CHECK(error.says("Choose JPEG, PNG or WebP images, or measure only reading with `iobench read`"));
  options.preset = "resnet50-a100";
  CHECK(failure(options) == ErrorCode::corrupt);
  options.preset.reset();
  options.batch = 10;
  options.step_time = 1;
  CHECK(failure(options) == ErrorCode::corrupt);
  write_file(dir.path("shards/a.tar"), TarBuilder().sample("k", "no JPEG", "7").end().bytes());
  CHECK(failure(run_options(dir.path("shards"))) == ErrorCode::corrupt);
}

TEST_CASE("images of which some cannot be decoded are warned of with their share") {
  const TempDir dir;
  for (std::uint32_t i = 0; i < 40; ++i) {
    write_file(dir.path(std::to_string(i) + ".jpg"), i % 2 == 0 ? small_jpeg(i) : cut_jpeg(i));
  }
  RunOptions options = run_options(dir.path());
  options.budget = 4;
  Context context;
  run(options, context);
  CHECK(contains(warning_of(context, "images_failed"), "20 of 40 images (50.0 %: 20 truncated) cannot be decoded"));
}

TEST_CASE("a problem of every repetition is reported once") {
  const TempDir dir;
  write_file(dir.path("tensors.bin"), std::string(100'000, 't'));
  RunOptions options = run_options(dir.path());
  options.repeat = 3;
  Context context;
  run(options, context);
  const auto warnings = context.warnings();
  CHECK(std::ranges::count(warnings, "nothing_to_decode", &shardkit::Finding::code) == 1);
}

TEST_CASE("a pipeline with too few steps for a row of the table of stages is reported, once for all repetitions") {
  Context context;
  std::vector<RunResult> repetitions(3);
  for (std::uint64_t i = 0; i < repetitions.size(); ++i) repetitions[i].pipeline.emplace().steps = 3 + i;
  warn_of_steps(repetitions, context);
  REQUIRE(context.warnings().size() == 1);
  CHECK(contains(context.warnings().front().text, "made only 3 steps, but 5 are needed"));
}

TEST_CASE("a pipeline of enough steps, and images that all decode, are warned of by nobody") {
  Context context;
  RunResult repetition;
  repetition.pipeline.emplace().steps = 5;
  repetition.decode.emplace().images = 10;
  warn_of_steps(std::span(&repetition, 1), context);
  warn_of_failures(repetition.decode->failures, repetition.decode->tried(), context);
  CHECK(context.warnings().empty());
}
