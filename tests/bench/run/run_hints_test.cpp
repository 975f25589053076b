#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/pipeline/pipeline_report.hpp"
#include "bench/pipeline/pipeline_setup.hpp"
#include "support/errors.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using shardkit_test::failure_of;

namespace {

/// What a run says of a pipeline whose stages were busy like that.
std::vector<std::string> advice_at(const PipelineShares& shares) {
  return judge_pipeline(shares, 2, AdvisedVerb::run).advice;
}

PipelineShares busy(double PipelineShares::*stage, double share = 0.9) {
  PipelineShares shares;
  shares.*stage = share;
  return shares;
}

}  // namespace

TEST_CASE("the error about batches that do not fit into memory names options that run has") {
  PipelineOptions options;
  options.advised = AdvisedVerb::run;
  options.batch = 1U << 20U;
  options.crop = 8192;
  const auto failure = failure_of([&] { check_batch_memory(set_up(options), 0); });
  CHECK(failure == ErrorCode::no_space);
  CHECK(failure.says("; use --dtype u8 or a smaller --crop, or allow more memory"));
}

TEST_CASE("advice of the pipeline names the options that run has") {
  CHECK(advice_at(busy(&PipelineShares::read)) ==
        std::vector<std::string>{"use faster storage, or stage the data to a local disk (shardctl stage)"});
  CHECK(advice_at(busy(&PipelineShares::transfer)) == std::vector<std::string>{"use a smaller --dtype"});
  PipelineShares shared = busy(&PipelineShares::decode);
  shared.worker_core = 0.5;
  const std::vector<std::string> advice = advice_at(shared);
  REQUIRE(advice.size() == 2);
  CHECK(advice.back().ends_with("a CPU limit or more --threads than cores use the rest"));
}

TEST_CASE("advice on settings that run does not have is left out") {
  CHECK(advice_at(busy(&PipelineShares::device_decode)).empty());
  PipelineShares jerky = busy(&PipelineShares::compute);
  jerky.workers_blocked = 0.5;
  jerky.step_starved = 0.5;
  CHECK(advice_at(jerky).empty());
}
