#include "bench/requirement/requirement.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/units.hpp"

namespace shardkit::bench {
namespace {

constexpr std::string_view kStorage2 = "MLPerf Storage v2.0";
constexpr std::string_view kStorage3 = "MLPerf Storage v3.0";
constexpr std::string_view kWhatIf = "MLPerf Storage v3.0, what-if";  // no result of these can be submitted
/// ResNet-50 v1.5 for PyTorch, mixed precision, one A100 80 GB: 2470 images/s at a batch of 256. MLPerf's emulated step
/// is that of TensorFlow without mixed precision, 2.7 times longer.
constexpr std::string_view kAmp = "NVIDIA DeepLearningExamples 2021";

constexpr std::array kPresets = {
    Preset{"unet3d-a100", "3D U-Net", "A100", 146'600'628, 7, 0.636, 0.90, false, kStorage2},
    Preset{"unet3d-h100", "3D U-Net", "H100", 146'600'628, 7, 0.323, 0.90, false, kStorage2},
    Preset{"unet3d-b200", "3D U-Net", "B200", 146'600'628, 7, 0.162, 0.90, false, kStorage3},
    Preset{"resnet50-a100", "ResNet-50", "A100", 114'660, 400, 0.435, 0.90, true, kStorage2},
    Preset{"resnet50-h100", "ResNet-50", "H100", 114'660, 400, 0.224, 0.90, true, kStorage2},
    Preset{"resnet50-a100-amp", "ResNet-50", "A100 AMP", 114'660, 256, 256.0 / 2470, 0.90, true, kAmp},
    Preset{"cosmoflow-a100", "CosmoFlow", "A100", 2'828'486, 1, 0.00551, 0.70, false, kStorage2},
    Preset{"cosmoflow-h100", "CosmoFlow", "H100", 2'828'486, 1, 0.00350, 0.70, false, kStorage2},
    Preset{"retinanet-b200", "RetinaNet", "B200", 322'957, 24, 0.04755, 0.85, true, kStorage3},
    Preset{"retinanet-mi355", "RetinaNet", "MI355", 322'957, 32, 0.0634, 0.85, true, kStorage3},
    Preset{"flux-b200", "Flux", "B200", 2'164'832, 48, 1.35, 0.90, false, kWhatIf},
    Preset{"flux-mi355", "Flux", "MI355", 2'164'832, 72, 2.025, 0.90, false, kWhatIf},
    Preset{"dlrm-b200", "DLRM", "B200", 761, 16'384, 0.000375, 0.70, false, kWhatIf},
    Preset{"dlrm-mi355", "DLRM", "MI355", 761, 16'384, 0.0005625, 0.70, false, kWhatIf},
};

void check(bool fine, const char* option, const char* expected) {
  if (!fine) throw usage_error("{}: missing; give {}", option, expected);
}

void check_alone(bool given, const char* option) {
  if (!given) return;
  throw usage_error("{} needs --preset, or --batch and --step-time", option);
}

}  // namespace

std::span<const Preset> presets() { return kPresets; }

const Preset& find_preset(std::string_view name) {
  const auto found = std::find_if(kPresets.begin(), kPresets.end(), [&](const Preset& p) { return p.name == name; });
  if (found != kPresets.end()) return *found;
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  const std::string meant = closest(name, names);
  throw usage_error("unknown preset '{}'{}; known presets: {}", name,
                    meant.empty() ? "" : fmt::format(", did you mean {}?", meant), fmt::join(names, ", "));
}

std::string fed_gpus_text(std::span<const FedGpus> rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Preset& preset = *rows[i].preset;
    const bool is_last = i + 1 == rows.size() || rows[i + 1].preset->workload != preset.workload;
    text += fmt::format("{}{} {}{}", i == 0 ? "" : ", ", rows[i].count, preset.gpu,
                        is_last ? fmt::format(" ({})", preset.workload) : "");
  }
  return text;
}

TrainingJob preset_job(const Preset& preset, std::uint64_t gpus) {
  return {gpus, preset.batch, preset.step_seconds, preset.sample_bytes};
}

double samples_per_second(const TrainingJob& job) {
  return static_cast<double>(job.gpus) * static_cast<double>(job.batch) / job.step_seconds;
}

double bytes_per_second(const TrainingJob& job) { return samples_per_second(job) * job.sample_bytes; }

std::uint64_t tensor_bytes(std::uint64_t side, std::uint64_t value_bytes) { return 3 * side * side * value_bytes; }

double decode_rate_of(double rate, double measured_bytes, double bytes) {
  constexpr double kNoDifference = 1.25;
  return measured_bytes > 0 && bytes > kNoDifference * measured_bytes ? rate * measured_bytes / bytes : rate;
}

double prefetch_bytes(std::uint64_t ranks, std::uint64_t workers, std::uint64_t prefetch, std::uint64_t batch,
                      double decoded_sample_bytes) {
  return static_cast<double>(ranks) * static_cast<double>(workers) * static_cast<double>(prefetch) *
         static_cast<double>(batch) * decoded_sample_bytes;
}

double checkpoint_share(double blocked_seconds, double interval_steps, double step_seconds) {
  return blocked_seconds / (interval_steps * step_seconds + blocked_seconds);
}

bool checkpoint_fits(double write_seconds, double interval_steps, double step_seconds) {
  return write_seconds <= interval_steps * step_seconds;
}

double overlapped_au(double supply_per_second, double demand_per_second) {
  return std::min(1.0, supply_per_second / demand_per_second);
}

double serial_au(const TrainingJob& job, double supply_per_second) {
  if (supply_per_second <= 0) return 0;
  const double fetch = static_cast<double>(job.gpus) * static_cast<double>(job.batch) / supply_per_second;
  return job.step_seconds / (job.step_seconds + fetch);
}

bool meets(double supply_per_second, double demand_per_second) {
  return supply_per_second * (1 + kRateRounding) >= demand_per_second;
}

std::uint64_t gpus_fed(const TrainingJob& job, double supply_per_second, double au) {
  TrainingJob one = job;
  one.gpus = 1;
  const double gpus = std::floor(supply_per_second / (au * samples_per_second(one)) * (1 + kRateRounding));
  return static_cast<std::uint64_t>(std::min(gpus, 1e18));
}

double shared_cores_rate(double cores, std::span<const double> cpu_seconds_per_sample) {
  const double sum = std::accumulate(cpu_seconds_per_sample.begin(), cpu_seconds_per_sample.end(), 0.0);
  return sum > 0 ? cores / sum : 0;
}

void CoresNeeded::describe(FieldList& v) {
  v.field({"preset", "published workload"}, preset);
  v.field({"samples_per_second", Unit::per_second, "samples that one GPU needs"}, samples_per_second);
  v.field({"cores", "cores that this stage needs for that"}, cores);
}

std::vector<CoresNeeded> cores_needed(double per_core) {
  std::vector<CoresNeeded> rows;
  if (per_core <= 0) return rows;
  for (const Preset& preset : presets()) {
    if (!preset.jpeg) continue;
    const double rate = samples_per_second(preset_job(preset, 1));
    rows.push_back({std::string(preset.name), rate, rate / per_core});
  }
  return rows;
}

std::string_view stage_activity(std::string_view stage) {
  if (stage == stage::kRead) return "reading";
  if (stage == stage::kDecode) return "decoding";
  if (stage == stage::kAugment) return "augmenting";
  return stage;
}

std::string au_text(double au, double min_au) {
  const bool is_missed = !meets(au, min_au) && std::round(au * 100) >= std::round(min_au * 100);
  return is_missed ? fmt::format("{:.1f} %", std::floor(au * 1000) / 10) : fmt::format("{:.0f} %", au * 100);
}

std::string rate_number(double per_second) {
  constexpr double kWhole = 9.95;
  return per_second > 0 && per_second < kWhole ? fmt::format("{:.2g}", per_second) : format_rounded_count(per_second);
}

std::string sample_rate_text(double samples_per_second) {
  const std::string count = rate_number(samples_per_second);
  return count + (count == "1" ? " sample/s" : " samples/s");
}

std::vector<StageRate> measured_together(std::vector<StageRate> alone, double together) {
  const auto slowest = std::ranges::min_element(alone, {}, &StageRate::samples_per_second);
  for (StageRate& rate : alone) rate.samples_per_second = std::max(rate.samples_per_second, together);
  slowest->samples_per_second = together;
  return alone;
}

Rating rating_of(const TrainingJob& job, double min_au, std::span<const StageRate> rates) {
  const StageRate& slowest = *std::min_element(rates.begin(), rates.end(), [](const StageRate& a, const StageRate& b) {
    return a.samples_per_second < b.samples_per_second;
  });
  const double supply = slowest.samples_per_second;
  const double demand = samples_per_second(job);
  Rating rating;
  rating.limiting_stage = meets(supply, demand) ? stage::kCompute : slowest.stage;
  rating.supply_per_second = supply;
  rating.headroom_ratio = supply / demand;
  rating.overlapped_au = overlapped_au(supply, demand);
  rating.serial_au = serial_au(job, supply);
  rating.gpus_fed = gpus_fed(job, supply, min_au);
  rating.ok = meets(supply, min_au * demand);
  return rating;
}

void JobOptions::describe(FieldList& v) {
  v.field({"preset", "a published workload, such as resnet50-h100", "NAME", kMayDiffer, kLabel}, preset);
  v.field({"gpus", Unit::count, "GPUs that train together; default: 1", kMayDiffer, at_least(1)}, gpus);
  v.field({"batch", Unit::count,
           "samples per GPU and training step; GPUs that share each sample (tensor parallelism) count as one of --gpus",
           at_least(1)},
          batch);
  v.field({"step-time", Unit::seconds, "time that a GPU computes one batch", above(0), kOfTrainingStep}, step_time);
  v.field(
      {"min-au", Unit::ratio, "required GPU utilization; default: that of the preset, else 1", kMayDiffer, above(0, 1)},
      min_au);
  v.field({"sample-kind",
           "what a sample is; only images are decoded, others are judged by reading; default: that of the preset, else "
           "images"},
          sample_kind);
}

std::optional<JobRequirement> job_requirement(const JobOptions& options) {
  if (!options.preset && !options.batch && !options.step_time) {
    check_alone(options.gpus.has_value(), "--gpus");
    check_alone(options.min_au.has_value(), "--min-au");
    check_alone(options.sample_kind.has_value(), "--sample-kind");
    return std::nullopt;
  }
  JobRequirement requirement;
  requirement.job.gpus = options.gpus.value_or(1);
  if (options.preset) {
    requirement.preset = &find_preset(*options.preset);
    requirement.job = preset_job(*requirement.preset, requirement.job.gpus);
    requirement.min_au = requirement.preset->min_au;
  } else {
    check(options.batch.has_value(), "--batch", "the samples per GPU and training step, or a --preset");
    check(options.step_time.has_value(), "--step-time", "the time that a GPU computes one batch, or a --preset");
    check(options.sample_bytes.has_value(), "--sample-bytes", "the mean size of a stored sample, or a --preset");
  }
  requirement.job.batch = options.batch.value_or(requirement.job.batch);
  requirement.job.step_seconds = options.step_time.value_or(requirement.job.step_seconds);
  if (options.sample_bytes) requirement.job.sample_bytes = static_cast<double>(*options.sample_bytes);
  requirement.min_au = options.min_au.value_or(requirement.min_au);
  requirement.kind = options.sample_kind;
  return requirement;
}

void warn_of_step_time(const JobOptions& options, Context& context) {
  if (!options.preset || !options.batch || options.step_time) return;
  const TrainingJob job = preset_job(find_preset(*options.preset), 1);
  if (*options.batch == job.batch) return;
  context.warn(
      "step_time_of_other_batch",
      fmt::format(
          "--batch {} is combined with {}, the step time of {} for {} samples; give the --step-time of your batch",
          *options.batch, format_duration(job.step_seconds), *options.preset, job.batch));
}

}  // namespace shardkit::bench
