#include "bench/requirement/job.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"

namespace shardkit::bench {

std::string_view stage_activity(std::string_view stage) {
  if (stage == stage::kRead) return "reading";
  if (stage == stage::kDecode) return "decoding";
  if (stage == stage::kAugment) return "augmenting";
  return stage;
}

std::string sample_rate_text(double samples_per_second) {
  const std::string count = format_rounded_count(samples_per_second);
  return count + (count == "1" ? " sample/s" : " samples/s");
}

Judgement judge(const TrainingJob& job, double min_au, std::span<const StageRate> rates) {
  const StageRate& slowest = *std::min_element(rates.begin(), rates.end(), [](const StageRate& a, const StageRate& b) {
    return a.samples_per_second < b.samples_per_second;
  });
  const double supply = slowest.samples_per_second;
  const double demand = samples_per_second(job);
  Judgement judgement;
  judgement.limiting_stage = supply < demand ? slowest.stage : stage::kCompute;
  judgement.supply_per_second = supply;
  judgement.headroom_ratio = supply / demand;
  judgement.overlapped_au = overlapped_au(supply, demand);
  judgement.serial_au = serial_au(job, supply);
  judgement.gpus_fed = gpus_fed(job, supply, min_au);
  judgement.ok = judgement.overlapped_au >= min_au;
  return judgement;
}

namespace {

void check(bool fine, const char* option, const char* expected) {
  if (!fine) throw Error(ErrorCode::usage, fmt::format("{}: expected {}", option, expected));
}

void check_alone(bool given, const char* option) {
  if (!given) return;
  throw Error(ErrorCode::usage, fmt::format("{} says nothing alone: add --preset, or --batch and --step-time", option));
}

}  // namespace

std::optional<JobRequirement> job_requirement(const JobOptions& options) {
  if (!options.preset && !options.batch && !options.step_time) {
    check_alone(options.gpus.has_value(), "--gpus");
    check_alone(options.min_au.has_value(), "--min-au");
    return std::nullopt;
  }
  JobRequirement requirement;
  requirement.job.gpus = options.gpus.value_or(1);
  if (options.preset) {
    requirement.preset = &find_preset(*options.preset);
    requirement.job = preset_job(*requirement.preset, requirement.job.gpus);
    requirement.min_au = requirement.preset->min_au;
  } else {
    check(options.batch.has_value(), "--batch", "the samples per GPU and step, or a --preset");
    check(options.step_time.has_value(), "--step-time", "the seconds a GPU computes per batch, or a --preset");
    check(options.sample_bytes.has_value(), "--sample-bytes", "the mean bytes of a stored sample, or a --preset");
  }
  requirement.job.batch = options.batch.value_or(requirement.job.batch);
  requirement.job.step_seconds = options.step_time.value_or(requirement.job.step_seconds);
  requirement.job.sample_bytes = options.sample_bytes.value_or(requirement.job.sample_bytes);
  requirement.min_au = options.min_au.value_or(requirement.min_au);
  return requirement;
}

void warn_of_step_time(const JobOptions& options, Context& context) {
  if (!options.preset || !options.batch || options.step_time) return;
  const TrainingJob job = preset_job(find_preset(*options.preset), 1);
  if (*options.batch == job.batch) return;
  context.warn(
      "step_time_of_other_batch",
      fmt::format("--batch {} is held against {}, the time of {}'s step of {} samples: name the --step-time of "
                  "yours",
                  *options.batch, format_duration(job.step_seconds), *options.preset, job.batch));
}

}  // namespace shardkit::bench
