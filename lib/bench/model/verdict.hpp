#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bench/model/requirement.hpp"

/// Holding what a node supplies against what a job demands.
namespace shardkit {

/// Stages have these names in every result.
namespace stage {
inline constexpr std::string_view kRead = "read";
inline constexpr std::string_view kDecode = "decode";
inline constexpr std::string_view kAugment = "augment";
inline constexpr std::string_view kTransfer = "transfer";
inline constexpr std::string_view kCompute = "compute";
inline constexpr std::string_view kCheckpoint = "checkpoint";
}  // namespace stage

/// How many samples a second a stage gives when nothing else holds it back.
struct StageRate {
  std::string_view stage;
  double samples_per_second = 0;
};

/// What comes of a job on a node.
struct Judgement {
  std::string limiting_stage;    ///< the slowest stage; "compute" when every stage is fast enough
  double supply_per_second = 0;  ///< samples, of the slowest stage
  double headroom_ratio = 0;     ///< supply over demand; below 1 something is short
  double overlapped_au = 0;      ///< utilisation when fetching runs wholly beside computing
  double serial_au = 0;          ///< utilisation when each step waits for its batch
  std::uint64_t gpus_fed = 0;    ///< at `min_au`
  bool ok = false;               ///< overlapped_au reaches `min_au`
};

/// What a stage does, as a sentence begins with it: "decoding" of "decode".
std::string_view stage_activity(std::string_view stage);

/// "1 sample/s", "1,200 samples/s", rounded.
std::string sample_rate_text(double samples_per_second);

/// Judges stages that overlap, so that the slowest sets the pace. `rates` is not empty; min_au in (0, 1].
Judgement judge(const TrainingJob& job, double min_au, std::span<const StageRate> rates);

}  // namespace shardkit
