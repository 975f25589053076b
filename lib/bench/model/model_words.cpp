#include "bench/model/model_words.hpp"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/units.hpp"

namespace shardkit::bench {
namespace {

std::string gpus_text(std::uint64_t gpus) { return format_count(gpus, "GPU"); }

std::string_view supplier(std::string_view name) { return name == stage::kRead ? "storage" : stage_activity(name); }

/// "decoding was not measured"
std::string gap_text(const ModelResult& result) {
  std::string names;
  for (const std::string& name : result.not_measured) {
    names += fmt::format("{}{}", names.empty() ? "" : " and ", stage_activity(name));
  }
  return fmt::format("{} {} not measured", names, result.not_measured.size() == 1 ? "was" : "were");
}

/// The stage that was measured, if the other was not.
std::string_view measured_supplier(const ModelResult& result) {
  return supplier(result.not_measured.front() == stage::kRead ? stage::kDecode : stage::kRead);
}

/// "5 of 43 samples/s"; if the measured samples had another size, also for one of that size.
std::string rates_text(const ModelResult& result, double sample_bytes) {
  const double demand = result.required->samples_per_second;
  std::string text =
      fmt::format("{} available, {} needed", sample_rate_text(*result.headroom_ratio * demand), rate_number(demand));
  const double decoded = result.supply->decoded_sample_bytes.value_or(sample_bytes);
  const double measured = result.supply->measured_sample_bytes.value_or(decoded);
  if (measured < 0.99 * sample_bytes || measured > 1.01 * sample_bytes) {
    text += fmt::format(" ({} per sample, measured with {})", format_rounded_size(sample_bytes),
                        format_rounded_size(measured));
  }
  return text;
}

/// Supply against demand, worded like the verdict of a run.
std::string supply_text(const ModelResult& result, const JobRequirement& requirement) {
  std::string rates = rates_text(result, requirement.job.sample_bytes);
  if (result.requirement == RequirementState::undecided) {
    if (*result.headroom_ratio < 1) {
      rates += fmt::format(", AU {:.0f} %, of which {:.0f} % are required", *result.predicted_au_ratio * 100,
                           requirement.min_au * 100);
    }
    return fmt::format("{} is enough: {}; {}", measured_supplier(result), rates, gap_text(result));
  }
  const std::string numbers =
      fmt::format("{}, predicted AU {} ({:.0f} % if each step waits for its batch)", rates,
                  au_text(*result.predicted_au_ratio, requirement.min_au), *result.predicted_au_serial_ratio * 100);
  if (result.limiting_stage == stage::kCompute) return "GPUs are fed: " + numbers;
  const bool met = result.requirement == RequirementState::met;
  return fmt::format("{}{} is the bottleneck: {}", met ? "enough; " : "", *result.limiting_stage, numbers);
}

/// "checkpoints take 16.7 % of the running time when training waits for them, 2.4 % with a copy in memory"
std::string checkpoint_text(const CheckpointCost& cost) {
  std::string text = fmt::format("checkpoints take {:.1f} % of the running time if training waits for them",
                                 cost.synchronous_share_ratio * 100);
  if (cost.asynchronous_share_ratio) {
    text += fmt::format(", {:.1f} % with a copy in memory", *cost.asynchronous_share_ratio * 100);
  }
  return text;
}

/// "checkpoint is the bottleneck: writing one takes 2.0 min, but the steps between two only 50 s"
std::string late_checkpoint_text(const CheckpointCost& cost) {
  return fmt::format("checkpoint is the bottleneck: writing one takes {}, but the steps between two only {}",
                     format_duration(cost.write_seconds), format_duration(cost.interval_seconds));
}

/// Other measurements may not concern the job: decoding, if its samples are not decoded.
std::string demand_text(const ModelResult& result, const JobRequirement& requirement) {
  const std::string text = fmt::format(
      "{} {} {}, {} from storage", gpus_text(requirement.job.gpus), requirement.job.gpus == 1 ? "takes" : "take",
      sample_rate_text(result.required->samples_per_second), format_rate(result.required->bytes_per_second));
  return result.not_measured.empty() ? text : text + "; whether that is available is unknown: " + gap_text(result);
}

/// "4 A100, 2 H100 (ResNet-50)" of the workloads of images, or of the others; presets of which the supply does not feed
/// one GPU are left out.
std::string fed_presets(const ModelResult& result, bool images) {
  std::vector<FedGpus> fed;
  for (const PresetRow& row : result.presets) {
    const Preset& preset = find_preset(row.name);
    if (row.gpus_fed.value_or(0) > 0 && preset.jpeg == images) fed.push_back({&preset, format_count(*row.gpus_fed)});
  }
  return fed_gpus_text(fed);
}

/// Images must be read and decoded: with only one of these measured, it is unknown whether they feed the GPUs.
std::string fed_text(const ModelResult& result) {
  const std::string others = fed_presets(result, false);
  const std::string images = fed_presets(result, true);
  const std::string between = others.empty() || images.empty() ? "" : ", ";
  if (others.empty() && images.empty()) return "cannot feed a GPU of any preset";
  if (result.not_measured.empty()) return "feeds " + others + between + images;
  std::string text = "feeds " + others + between;
  if (!images.empty()) text += fmt::format("at most {} (judged only by {})", images, measured_supplier(result));
  return text + "; " + gap_text(result);
}

}  // namespace

std::string model_text(const ModelResult& result, const std::optional<JobRequirement>& requirement) {
  if (requirement) {
    const std::string where = result.nodes ? fmt::format("on each of {}: ", format_count(*result.nodes, "node")) : "";
    const std::string text =
        where + (result.requirement ? supply_text(result, *requirement) : demand_text(result, *requirement));
    const auto& cost = result.required->checkpoint;
    if (!cost) return text;
    if (!cost->fits_interval) return late_checkpoint_text(*cost) + "; " + text;
    return result.requirement ? text + "; " + checkpoint_text(*cost) : checkpoint_text(*cost) + "; " + text;
  }
  if (result.supply) return fed_text(result);
  return fmt::format("{}, and what one GPU of each needs", format_count(result.presets.size(), "published workload"));
}

}  // namespace shardkit::bench
