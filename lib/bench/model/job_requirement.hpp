#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/model/presets.hpp"
#include "bench/model/requirement.hpp"
#include "core/context.hpp"

namespace shardkit {

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

}  // namespace shardkit
