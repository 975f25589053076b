#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "bench/pipeline/pipeline_report.hpp"
#include "bench/requirement/requirement.hpp"

namespace shardkit::bench {
namespace {

constexpr double kNoticeable = 0.05;
constexpr double kMostOfACore = 0.8;
constexpr double kHalfACore = 0.5;
constexpr double kMostlyBusy = 0.5;

struct Candidate {
  double busy = 0;
  std::string_view stage;
  std::string reason;
  bool on_gpu = false;
};

/// Where workers queue for cores, readers do too: their time is no sign of slow storage.
Candidate readers(const PipelineShares& shares) {
  const bool workers_work = shares.decode + shares.augment >= kMostlyBusy;  // workers that idle wait for no cores
  const bool cores_are_short = workers_work && shares.worker_core < kHalfACore;
  return {cores_are_short ? 0 : shares.read, stage::kRead,
          fmt::format("readers read {:.0f} % of their time", shares.read * 100)};
}

Candidate workers(const PipelineShares& shares) {
  const double busy = shares.decode + shares.augment;
  return {busy, shares.decode >= shares.augment ? stage::kDecode : stage::kAugment,
          fmt::format("workers are busy {:.0f} % of their time: decode {:.0f} %, augment {:.0f} %", busy * 100,
                      shares.decode * 100, shares.augment * 100)};
}

Candidate hand_over(const PipelineShares& shares) {
  const double busy = shares.transfer + shares.device_decode;
  if (shares.device_decode > shares.transfer) {
    return {busy, stage::kDecode,
            fmt::format("the GPU decodes {:.0f} % of the time, and copies take {:.0f} %", shares.device_decode * 100,
                        shares.transfer * 100),
            true};
  }
  return {busy, stage::kTransfer, fmt::format("handing over takes {:.0f} % of its thread's time", busy * 100)};
}

Candidate steps(const PipelineShares& shares) {
  const bool at_starts = shares.step_waits - shares.step_starved > kNoticeable;
  return {shares.compute + shares.checkpoint, shares.checkpoint > kNoticeable ? stage::kCheckpoint : stage::kCompute,
          fmt::format("steps compute {:.0f} % of the time, write checkpoints {:.0f} % and wait {:.0f} %{}",
                      shares.compute * 100, shares.checkpoint * 100, shares.step_waits * 100,
                      at_starts ? ", for the first batch of an epoch above all" : "")};
}

/// What helps whoever sets the pace; nothing for steps that are fed.
std::string stage_advice(std::string_view stage, bool on_gpu) {
  if (on_gpu) return "smaller images (shardctl convert --resize) or --decode cpu on more cores would help";
  if (stage == stage::kRead) {
    return "faster storage, more --readers, or the data staged on a local disk (shardctl stage) would help";
  }
  if (stage == stage::kDecode)
    return "more cores, smaller images (shardctl convert --resize) or decoding on the GPU would help";
  if (stage == stage::kAugment) return "more cores, --dtype u8 or normalising on the GPU would help";
  if (stage == stage::kTransfer) return "--pinned on, --normalize gpu or a smaller --dtype would help";
  if (stage == stage::kCheckpoint) {
    return "a faster disk for checkpoints, fewer of them, or writing them behind the training would help (iobench "
           "checkpoint)";
  }
  return {};
}

}  // namespace

PipelineVerdict judge_pipeline(const PipelineShares& shares, std::uint64_t prefetch) {
  const std::array candidates{steps(shares), workers(shares), readers(shares), hand_over(shares)};
  const Candidate& busiest = *std::ranges::max_element(candidates, {}, &Candidate::busy);
  PipelineVerdict verdict{std::string(busiest.stage), busiest.reason, {}};
  if (const std::string advice = stage_advice(busiest.stage, busiest.on_gpu); !advice.empty())
    verdict.advice.push_back(advice);
  const bool steps_take_time = shares.compute + shares.checkpoint > kNoticeable;  // else there is nothing to overlap
  if (steps_take_time && shares.workers_blocked > kNoticeable && shares.step_starved > kNoticeable) {
    verdict.advice.push_back(
        fmt::format("raise --prefetch above {}: steps wait {:.0f} % of the time for batches, and workers {:.0f} % of "
                    "theirs for leave to make them",
                    prefetch, shares.step_starved * 100, shares.workers_blocked * 100));
  }
  const bool workers_win = busiest.stage == stage::kDecode || busiest.stage == stage::kAugment;
  if (workers_win && !busiest.on_gpu && shares.worker_core < kMostOfACore) {
    verdict.advice.push_back(
        fmt::format("workers have {:.0f} % of a core each while they decode: other processes, a CPU limit or more "
                    "--workers than cores take the rest",
                    shares.worker_core * 100));
  }
  return verdict;
}

}  // namespace shardkit::bench
