#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bench/requirement/requirement.hpp"
#include "core/context.hpp"

/// Holding what a node supplies against what a job demands.
namespace shardkit::bench {

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

/// A job and how much of its GPUs' time it wants used.
struct JobRequirement {
  TrainingJob job;
  double min_au = 1;               ///< 1: every GPU busy all the time
  const Preset* preset = nullptr;  ///< where the job came from, if from one

  /// False for workloads whose samples are no images: they are neither decoded nor cropped.
  bool is_of_images() const { return preset == nullptr || preset->jpeg; }
};

/// What a command line says of a job: a preset, single values, or a preset with values replaced.
struct JobOptions {
  std::optional<std::string> preset;
  std::optional<std::uint64_t> gpus;
  std::optional<std::uint64_t> batch;
  std::optional<double> step_time;
  std::optional<double> sample_bytes;  ///< given or measured; needed only without a preset
  std::optional<double> min_au;
};

/// Empty when the options describe no job at all. Throws Error{usage} when something is missing or impossible; a number
/// of GPUs or a utilisation without a job is such.
std::optional<JobRequirement> job_requirement(const JobOptions& options);

/// Warns where the batch of a preset was replaced and its step time, which is that of its own batch, was not.
void warn_of_step_time(const JobOptions& options, Context& context);

}  // namespace shardkit::bench
