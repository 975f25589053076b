// Images that cannot be decoded: one rule, one number and one warning, whichever verb meets them.

#include <string>

#include <doctest/doctest.h>

#include "bench/bench_data.hpp"
#include "bench/decode/decode.hpp"
#include "bench/pipeline/pipeline.hpp"
#include "bench/run/run.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::image;
using namespace shardkit::test;

namespace {

/// Eight images, of which one is empty, one a text and one a GIF.
void write_images(const ShardFolder& folder) {
  TarBuilder tar;
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::string content = i == 3 ? "" : i == 5 ? "no JPEG" : i == 6 ? "GIF89a" : small_jpeg(i);
    folder.write("images/c/" + std::to_string(i) + ".jpg", content);
    tar.sample("k" + std::to_string(i), content, "7");
  }
  folder.write("shards/a.tar", tar.end());
}

struct Reported {
  DecodeFailures failures;
  std::string warning;
};

std::string warning_of(const Context& context) {
  std::string text;
  for (const shardkit::Finding& warning : context.warnings()) {
    if (warning.code.starts_with("images_")) text += warning.text;
  }
  return text;
}

Reported reported_by_decode(const std::string& path) {
  DecodeBenchOptions options;
  options.paths = {path};
  options.threads = 2;
  options.min_seconds = 0;
  Context context;
  return {decode(options, context).failures, warning_of(context)};
}

Reported reported_by_pipeline(const std::string& path) {
  PipelineOptions options;
  options.paths = {path};
  options.batch = 4;
  options.workers = 2;
  options.crop = 16;
  Context context;
  return {pipeline(options, context).failures, warning_of(context)};
}

Reported reported_by_run(const std::string& path) {
  RunOptions options;
  options.paths = {path};
  options.budget = 4;
  Context context;
  return {run(options, context).decode->failures, warning_of(context)};
}

}  // namespace

TEST_CASE("empty images are failures as others are: decode, pipeline and run count and warn of the same") {
  const ShardFolder folder;
  write_images(folder);
  for (const char* data : {"images", "shards"}) {
    for (const auto report : {reported_by_decode, reported_by_pipeline, reported_by_run}) {
      CAPTURE(data);
      const Reported reported = report(folder.path(data));
      CHECK(reported.failures.total == 3);
      CHECK(reported.failures.not_jpeg == 2);
      CHECK(reported.failures.other_format == 1);
      CHECK(reported.warning.starts_with("2 of 8 images (25.0 %: 2 not jpeg) cannot be decoded"));
      CHECK(reported.warning.find("1 of 8 images (12.5 %) have formats that were not decoded") != std::string::npos);
    }
  }
}

TEST_CASE("the kinds are reported by their names, without those that still gave pixels") {
  DecodeFailures failures;
  for (const auto kind : {DecodeFailure::truncated, DecodeFailure::truncated, DecodeFailure::warned})
    failures.add(kind, {});
  CHECK(kinds_text(failures) == "2 truncated");
  failures.add(DecodeFailure::not_jpeg, {});
  CHECK(kinds_text(failures) == "2 truncated, 1 not jpeg");
  CHECK(kinds_text({}).empty());
}
