#include <doctest/doctest.h>

#include "bench/pipeline/pipeline.hpp"
#include "cli/report_text.hpp"
#include "iobench/verbs.hpp"

using namespace shardkit;
using namespace shardkit::apps;
using namespace shardkit::bench;

namespace {

PipelineResult example() {
  PipelineResult result;
  result.limiting_stage = "transfer";
  result.reason = "copying to the GPU takes 97 % of the time of its threads";
  result.sink = bench::SinkKind::gpu;
  result.samples_per_second = 12'000;
  return result;
}

bool says(const PipelineResult& result, std::string_view text) {
  const std::string report = report_text(answer_pipeline(result), false);
  CAPTURE(report);
  return report.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("what sets the pace comes first") {
  CHECK(report_text(answer_pipeline(example()), false)
            .starts_with("transfer is the bottleneck: copying to the GPU takes 97 %"));
}

TEST_CASE("data are counted in their own noun") {
  PipelineResult result = example();
  result.source = bench::SourceForm::shards;
  result.files = 1;
  CHECK(says(result, "source:        1 shard, cache"));
  result.files = 2000;
  CHECK(says(result, "source:        2,000 shards, cache"));
}

TEST_CASE("copies to GPUs and who decoded have a line each, where there were any") {
  PipelineResult result = example();
  CHECK_FALSE(says(result, "copies:"));
  CHECK_FALSE(says(result, "decoded by:"));
  result.copies = CopyReport{{"0: Made-up GPU", "1: Made-up GPU"}, true, 10, 385'351'680, 50e9};
  result.jpegs = JpegReport{{{1900, 60, 30}, 8, 2}, "nvJPEG 13.0", 0.995, 0.5};
  CHECK(says(result, "copies:        50.0 GB/s from pinned memory to 2 GPUs, 36.8 MiB each\n"));
  CHECK(says(result,
             "decoded by:    nvJPEG 13.0: 1,900 in hardware, 60 hybrid, 30 GPU hybrid; CPU: 8 refused, 2 returned\n"));
  result.copies->pinned = false;
  result.copies->bytes_per_second.reset();
  CHECK(says(result, "copies:        none from pageable memory"));
}

TEST_CASE("a ladder is a table, in which a rung that is missing says why") {
  PipelineResult result = example();
  PipelineRung naive;
  naive.rung = "naive";
  naive.samples_per_second = 400;
  naive.stall_ratio = 0.8;
  naive.au_ratio = 0.2;
  naive.process_cpu_seconds_per_sample = 0.002;
  naive.limiting_stage = "decode";
  PipelineRung missing;
  missing.rung = "nvJPEG";
  missing.missing = "no nvJPEG here";
  PipelineRung last = naive;
  last.rung = "all overlapped";
  last.factor = 4.5;
  result.ladder = {naive, missing, last};
  CHECK(report_text(answer_pipeline(result), false).starts_with("all overlapped: transfer is the bottleneck: "));
  CHECK(says(result, "nvJPEG                    not measured: no nvJPEG here\n"));
  CHECK(says(result, "naive                            400/s        -   20.0 %    80.0 %"));
  CHECK(says(result, "4.50"));
}

TEST_CASE("the required rate is called required") {
  PipelineResult result = example();
  result.samples_per_second = 560;
  CHECK(says(result, "samples:       560/s, "));
  result.required_samples_per_second = 640;
  CHECK(says(result, "samples:       560/s of 640/s required, "));
}
