#pragma once

#include <span>
#include <string_view>

#include "bench/model/requirement.hpp"

namespace shardkit {

/// A published training workload on one kind of GPU.
struct Preset {
  std::string_view name;  ///< <workload>-<accelerator>[-amp]
  double sample_bytes;
  std::uint64_t batch;
  double step_seconds;
  double min_au;             ///< accelerator utilisation that counts as fed
  bool jpeg;                 ///< its samples are JPEG files, so that decoding is part of the job
  std::string_view edition;  ///< what was published, where
};

/// All presets, workloads together.
std::span<const Preset> presets();

/// The preset called `name`. Throws Error{usage} that lists them all.
const Preset& find_preset(std::string_view name);

/// The job that `gpus` GPUs of the preset's kind run.
TrainingJob preset_job(const Preset& preset, std::uint64_t gpus);

}  // namespace shardkit
