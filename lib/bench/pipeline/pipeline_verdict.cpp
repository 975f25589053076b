#include "bench/pipeline/pipeline_verdict.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "bench/model/verdict.hpp"

namespace shardkit {
namespace {

constexpr double kNoticeable = 0.05;
constexpr double kMostOfACore = 0.8;

struct Candidate {
  double busy = 0;
  std::string_view stage;
  std::string reason;
};

Candidate readers(const PipelineShares& shares) {
  return {shares.read, stage::kRead, fmt::format("readers read {:.0f} % of their time", shares.read * 100)};
}

Candidate workers(const PipelineShares& shares) {
  const double busy = shares.decode + shares.augment;
  return {busy, shares.decode >= shares.augment ? stage::kDecode : stage::kAugment,
          fmt::format("workers are busy {:.0f} % of their time: decode {:.0f} %, augment {:.0f} %", busy * 100,
                      shares.decode * 100, shares.augment * 100)};
}

Candidate hand_over(const PipelineShares& shares) {
  return {shares.transfer, stage::kTransfer,
          fmt::format("handing over takes {:.0f} % of its thread's time", shares.transfer * 100)};
}

Candidate steps(const PipelineShares& shares) {
  return {shares.compute + shares.checkpoint, shares.checkpoint > kNoticeable ? stage::kCheckpoint : stage::kCompute,
          fmt::format("steps compute {:.0f} % of the time, write checkpoints {:.0f} % and wait {:.0f} %",
                      shares.compute * 100, shares.checkpoint * 100, shares.step_starved * 100)};
}

}  // namespace

PipelineVerdict judge_pipeline(const PipelineShares& shares, std::uint64_t prefetch) {
  const std::array candidates{steps(shares), workers(shares), readers(shares), hand_over(shares)};
  const Candidate& busiest = *std::ranges::max_element(candidates, {}, &Candidate::busy);
  PipelineVerdict verdict{std::string(busiest.stage), busiest.reason, {}};
  const bool steps_take_time = shares.compute + shares.checkpoint > kNoticeable;  // else there is nothing to overlap
  if (steps_take_time && shares.workers_blocked > kNoticeable && shares.step_starved > kNoticeable) {
    verdict.advice.push_back(
        fmt::format("raise --prefetch above {}: steps wait {:.0f} % of the time for batches, and workers {:.0f} % of "
                    "theirs for leave to make them",
                    prefetch, shares.step_starved * 100, shares.workers_blocked * 100));
  }
  if ((busiest.stage == stage::kDecode || busiest.stage == stage::kAugment) && shares.worker_core < kMostOfACore) {
    verdict.advice.push_back(
        fmt::format("workers have {:.0f} % of a core each while they decode: other processes, a CPU limit or more "
                    "--workers than cores take the rest",
                    shares.worker_core * 100));
  }
  return verdict;
}

}  // namespace shardkit
