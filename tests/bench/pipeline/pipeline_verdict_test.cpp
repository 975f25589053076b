#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "bench/pipeline/pipeline_report.hpp"

using namespace shardkit;
using namespace shardkit::bench;

namespace {

/// A pipeline whose steps are fed: compute all the time, everybody else waits for them.
PipelineShares fed() {
  PipelineShares shares;
  shares.read = 0.1;
  shares.decode = 0.3;
  shares.augment = 0.05;
  shares.workers_blocked = 0.65;
  shares.compute = 0.99;
  shares.step_starved = 0.01;
  return shares;
}

/// One whose steps wait four fifths of the time.
PipelineShares hungry() {
  PipelineShares shares;
  shares.compute = 0.2;
  shares.step_starved = 0.8;
  return shares;
}

bool advises(const PipelineShares& shares, std::uint64_t prefetch, const std::string& words) {
  const auto advice = judge_pipeline(shares, prefetch).advice;
  return std::ranges::any_of(advice, [&](const std::string& text) { return text.find(words) != std::string::npos; });
}

std::string stage_of(const PipelineShares& shares) { return judge_pipeline(shares, 2).limiting_stage; }

}  // namespace

TEST_CASE("steps that compute all the time set the pace") {
  const PipelineVerdict verdict = judge_pipeline(fed(), 2);
  CHECK(verdict.limiting_stage == "compute");
  CHECK(verdict.reason.find("99 %") != std::string::npos);
  CHECK(verdict.advice.empty());
}

TEST_CASE("all waits are reported, also those for the first batch of an epoch") {
  PipelineShares shares = fed();
  shares.compute = 0.62;
  shares.step_waits = 0.38;
  CHECK(judge_pipeline(shares, 2).reason ==
        "steps compute 62 % of the time and wait 38 %, mostly for the first batch of an epoch");
}

TEST_CASE("readers that wait for cores like the workers do not stand for slow storage") {
  PipelineShares shares = hungry();
  shares.compute = 0;
  shares.read = 0.73;
  shares.decode = 0.6;
  shares.worker_core = 0.04;  // 50 workers on 2 cores
  CHECK(stage_of(shares) == "decode");
  CHECK(advises(shares, 2, "more --workers than cores"));
  shares.decode = 0.1;  // workers that wait for readers want no cores
  CHECK(stage_of(shares) == "read");
  shares.decode = 0.6;
  shares.worker_core = 0.9;
  CHECK(stage_of(shares) == "read");
}

TEST_CASE("otherwise the busiest threads do") {
  PipelineShares shares = hungry();
  shares.read = 0.97;
  shares.decode = 0.4;
  CHECK(stage_of(shares) == "read");
  shares.read = 0.2;
  shares.decode = 0.9;
  shares.augment = 0.08;
  CHECK(stage_of(shares) == "decode");
  shares.decode = 0.3;
  shares.augment = 0.68;
  CHECK(stage_of(shares) == "augment");
  shares.augment = 0.1;
  shares.transfer = 0.95;
  CHECK(stage_of(shares) == "transfer");
}

TEST_CASE("whoever sets the pace comes with what would help") {
  PipelineShares shares = hungry();
  shares.read = 0.97;
  CHECK(judge_pipeline(shares, 2).advice.front().find("use faster storage") == 0);
  shares.read = 0.1;
  shares.decode = 0.97;
  CHECK(judge_pipeline(shares, 2).advice.front().find("use more cores") == 0);
}

TEST_CASE("a tiny prefetch is an advice and never a stage") {
  PipelineShares shares;  // step and workers wait for each other in turn
  shares.compute = 0.55;
  shares.step_starved = 0.45;
  shares.decode = 0.4;
  shares.workers_blocked = 0.55;
  const PipelineVerdict verdict = judge_pipeline(shares, 0);
  CHECK(verdict.limiting_stage == "compute");
  REQUIRE(verdict.advice.size() == 1);
  CHECK(verdict.advice.front().find("--prefetch above 0") != std::string::npos);
}

TEST_CASE("if workers never wait for permission, more prefetch is not advised") {
  PipelineShares shares = hungry();
  shares.decode = 0.98;
  CHECK_FALSE(advises(shares, 2, "--prefetch"));
}

TEST_CASE("workers that set the pace without a core each are reported; others are not") {
  PipelineShares shares = hungry();
  shares.decode = 0.98;
  shares.worker_core = 0.5;
  const PipelineVerdict verdict = judge_pipeline(shares, 2);
  CHECK(verdict.limiting_stage == "decode");
  CHECK(advises(shares, 2, "50 % of a core"));
  shares.read = 0.99;
  CHECK_FALSE(advises(shares, 2, "of a core"));
}

TEST_CASE("nor where steps take no time, so that there is nothing to overlap") {
  PipelineShares shares;
  shares.step_starved = 1;
  shares.decode = 0.5;
  shares.workers_blocked = 0.5;
  CHECK_FALSE(advises(shares, 0, "--prefetch"));
}

TEST_CASE("where a GPU decodes, the thread that hands over is decode or transfer, whichever takes it longer") {
  PipelineShares shares = hungry();
  shares.decode = 0.1;
  shares.worker_core = 0.3;
  shares.device_decode = 0.7;
  shares.transfer = 0.2;
  CHECK(stage_of(shares) == "decode");
  CHECK(judge_pipeline(shares, 2).reason == "the GPU decodes 70 % of the time, and copies take 20 %");
  CHECK(advises(shares, 2, "--backend cpu"));
  CHECK_FALSE(advises(shares, 2, "of a core each"));  // that is about workers
  std::swap(shares.device_decode, shares.transfer);
  CHECK(stage_of(shares) == "transfer");
  CHECK(advises(shares, 2, "a smaller --dtype"));
}
