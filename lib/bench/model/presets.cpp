#include "bench/model/presets.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "core/error.hpp"

namespace shardkit {
namespace {

constexpr std::string_view kStorage2 = "MLPerf Storage v2.0";
constexpr std::string_view kStorage3 = "MLPerf Storage v3.0";
/// ResNet-50 v1.5 for PyTorch, mixed precision, one A100 80 GB: 2470 images/s at a batch of 256. MLPerf's emulated step
/// is that of TensorFlow without mixed precision, 2.7 times longer.
constexpr std::string_view kAmp = "NVIDIA DeepLearningExamples 2021";

constexpr std::array kPresets = {
    Preset{"unet3d-a100", 146'600'628, 7, 0.636, 0.90, false, kStorage2},
    Preset{"unet3d-h100", 146'600'628, 7, 0.323, 0.90, false, kStorage2},
    Preset{"unet3d-b200", 146'600'628, 7, 0.162, 0.90, false, kStorage3},
    Preset{"resnet50-a100", 114'660, 400, 0.435, 0.90, true, kStorage2},
    Preset{"resnet50-h100", 114'660, 400, 0.224, 0.90, true, kStorage2},
    Preset{"resnet50-a100-amp", 114'660, 256, 256.0 / 2470, 0.90, true, kAmp},
    Preset{"cosmoflow-a100", 2'828'486, 1, 0.00551, 0.70, false, kStorage2},
    Preset{"cosmoflow-h100", 2'828'486, 1, 0.00350, 0.70, false, kStorage2},
    Preset{"retinanet-b200", 322'957, 24, 0.04755, 0.85, true, kStorage3},
    Preset{"flux-b200", 2'164'832, 48, 1.35, 0.90, false, kStorage3},
};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

const Preset& find_preset(std::string_view name) {
  const auto found = std::find_if(kPresets.begin(), kPresets.end(), [&](const Preset& p) { return p.name == name; });
  if (found != kPresets.end()) return *found;
  std::string names;
  for (const Preset& preset : kPresets) names += fmt::format("{}{}", names.empty() ? "" : ", ", preset.name);
  throw Error(ErrorCode::usage, fmt::format("there is no preset '{}'; there are: {}", name, names));
}

TrainingJob preset_job(const Preset& preset, std::uint64_t gpus) {
  return {gpus, preset.batch, preset.step_seconds, preset.sample_bytes};
}

}  // namespace shardkit
