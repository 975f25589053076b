#include "bench/model/model.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "bench/model/job_requirement.hpp"
#include "bench/model/verdict.hpp"
#include "core/error.hpp"

namespace shardkit {
namespace {

[[noreturn]] void refuse(const char* option, std::string_view expected) {
  throw Error(ErrorCode::usage, fmt::format("{}: expected {}", option, expected));
}

void check_positive(const std::optional<double>& value, const char* option) {
  if (value && *value <= 0) refuse(option, "more than 0");
}

void check_not_negative(const std::optional<double>& value, const char* option) {
  if (value && *value < 0) refuse(option, "0 or more");
}

void check_values(const ModelOptions& options) {
  if (options.workers == 0) refuse("--workers", "at least one worker");
  if (options.prefetch == 0) refuse("--prefetch", "at least one batch");
  if (options.crop == 0 || options.crop > 65535) refuse("--crop", "1 to 65535 pixels");
  if (options.checkpoint_every == 0U) refuse("--checkpoint-every", "at least one step");
  check_positive(options.decode_per_core, "--decode-per-core");
  check_positive(options.read_rate, "--read-rate");
  check_positive(options.decode_rate, "--decode-rate");
  check_positive(options.stage_rate, "--stage-rate");
  check_positive(options.checkpoint_rate, "--checkpoint-rate");
  check_not_negative(options.checkpoint_copy_time, "--checkpoint-copy-time");
  check_not_negative(options.gpu_hour_cost, "--gpu-hour-cost");
  check_not_negative(options.egress_cost, "--egress-cost");
}

/// An option that would change nothing without another is refused, so that no part of a command line goes unheard.
void check_partners(const ModelOptions& options) {
  const auto check = [](bool given, bool partner, const char* option, const char* partners) {
    if (given && !partner) refuse(option, fmt::format("{} beside it", partners));
  };
  const bool job = options.preset || options.batch || options.step_time;
  constexpr const char* kJob = "a job (--preset, or --batch and --step-time)";
  check(options.sample_bytes.has_value(), job, "--sample-bytes", kJob);
  check(options.decode_per_core.has_value(), job, "--decode-per-core", kJob);
  check(options.dataset_bytes.has_value(), job, "--dataset-bytes", kJob);
  check(options.checkpoint_bytes.has_value(), job, "--checkpoint-bytes", kJob);
  check(options.gpu_hour_cost.has_value(), job, "--gpu-hour-cost", kJob);
  check(options.egress_cost.has_value(), job, "--egress-cost", kJob);
  check(options.stage_rate.has_value(), options.dataset_bytes.has_value(), "--stage-rate", "--dataset-bytes");
  const bool checkpoint = options.checkpoint_bytes.has_value();
  check(checkpoint, options.checkpoint_rate && options.checkpoint_every, "--checkpoint-bytes",
        "--checkpoint-rate and --checkpoint-every");
  check(options.checkpoint_rate.has_value(), checkpoint, "--checkpoint-rate", "--checkpoint-bytes");
  check(options.checkpoint_every.has_value(), checkpoint, "--checkpoint-every", "--checkpoint-bytes");
  check(options.checkpoint_copy_time > 0, checkpoint, "--checkpoint-copy-time", "--checkpoint-bytes");
}

std::optional<double> as_double(const std::optional<std::uint64_t>& value) {
  return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
}

JobOptions job_options(const ModelOptions& options) {
  return {options.preset, options.gpus, options.batch, options.step_time, as_double(options.sample_bytes),
          options.min_au};
}

CheckpointCost checkpoint_cost(const ModelOptions& options, const TrainingJob& job) {
  CheckpointCost cost;
  const auto every = static_cast<double>(*options.checkpoint_every);
  cost.write_seconds = static_cast<double>(*options.checkpoint_bytes) / *options.checkpoint_rate;
  cost.synchronous_share_ratio = checkpoint_share(cost.write_seconds, every, job.step_seconds);
  cost.asynchronous_share_ratio = checkpoint_share(options.checkpoint_copy_time, every, job.step_seconds);
  cost.fits_interval = checkpoint_fits(cost.write_seconds, every, job.step_seconds);
  return cost;
}

Required requirements(const ModelOptions& options, const JobRequirement& requirement, const Supply& supply) {
  const TrainingJob& job = requirement.job;
  const bool image = requirement.is_of_images();
  const double decoded =
      image ? static_cast<double>(tensor_bytes(options.crop, value_bytes(options.dtype))) : job.sample_bytes;
  Required required;
  required.samples_per_second = samples_per_second(job);
  required.bytes_per_second = bytes_per_second(job);
  required.files_per_second = required.samples_per_second;
  if (const auto per_core = supply.decode_samples_per_second_per_core; image && per_core) {
    required.decode_cores = required.samples_per_second / *per_core;
  }
  required.h2d_bytes_per_second = required.samples_per_second * decoded;
  required.prefetch_memory = prefetch_bytes(job.gpus, options.workers, options.prefetch, job.batch, decoded);
  required.dev_shm = required.prefetch_memory;
  if (options.dataset_bytes) {
    const auto bytes = static_cast<double>(*options.dataset_bytes);
    required.epoch_seconds = bytes / required.bytes_per_second;
    if (options.stage_rate) required.staging_seconds = bytes / *options.stage_rate;
  }
  if (options.checkpoint_bytes) required.checkpoint = checkpoint_cost(options, job);
  return required;
}

/// What came from memory is no promise of storage.
void warn_of_cache(const Supply& supply, const std::string& path, Context& context) {
  const std::string state = supply.cache_state.value_or("");
  if (state != "warm" && state != "mixed" && state != "unknown") return;
  const std::string_view what = state == "unknown" ? "whether it came from the page cache is not known"
                                                   : "the rate is at least in part that of memory";
  context.warn("supply_not_cold",
               fmt::format("reading in '{}' was measured with the cache {}: {}; measure with --cache cold for what "
                           "storage gives",
                           path, state, what));
}

Supply given_supply(const ModelOptions& options, Context& context) {
  Supply supply;
  if (options.from) supply = read_measured_supply(*options.from);
  if (options.read_rate) {
    supply.read_bytes_per_second = options.read_rate;
    supply.read_samples_per_second.reset();
    supply.cache_state.reset();
  }
  if (options.from) warn_of_cache(supply, *options.from, context);
  if (options.decode_rate) supply.decode_samples_per_second = options.decode_rate;
  if (options.decode_per_core) supply.decode_samples_per_second_per_core = options.decode_per_core;
  return supply;
}

/// What the known stages give to samples of `sample_bytes`. Bytes per second count before samples per second, because
/// the job's samples need not be as large as those that were measured.
std::vector<StageRate> stage_rates(const Supply& supply, double sample_bytes, bool image) {
  std::vector<StageRate> rates;
  if (supply.read_bytes_per_second && sample_bytes > 0) {
    rates.push_back({stage::kRead, *supply.read_bytes_per_second / sample_bytes});
  } else if (supply.read_samples_per_second) {
    rates.push_back({stage::kRead, *supply.read_samples_per_second});
  }
  if (image && supply.decode_samples_per_second) rates.push_back({stage::kDecode, *supply.decode_samples_per_second});
  return rates;
}

void judge_supply(const JobRequirement& requirement, const Supply& supply, ModelResult& result) {
  const auto rates = stage_rates(supply, requirement.job.sample_bytes, requirement.is_of_images());
  if (rates.empty()) return;
  const Judgement judgement = judge(requirement.job, requirement.min_au, rates);
  result.supply = supply;
  result.limiting_stage = judgement.limiting_stage;
  result.headroom_ratio = judgement.headroom_ratio;
  result.predicted_au_ratio = judgement.overlapped_au;
  result.predicted_au_serial_ratio = judgement.serial_au;
  result.gpus_fed = judgement.gpus_fed;
  result.requirement = judgement.ok ? "met" : "missed";
}

void add_costs(const ModelOptions& options, const JobRequirement& requirement, ModelResult& result) {
  if (options.gpu_hour_cost && !result.predicted_au_ratio) {
    refuse("--gpu-hour-cost", "a supply (--from, --read-rate, --decode-rate) beside it: that tells how long GPUs idle");
  }
  if (options.gpu_hour_cost) {
    const auto gpus = static_cast<double>(requirement.job.gpus);
    result.idle_cost_per_hour = (1 - *result.predicted_au_ratio) * gpus * *options.gpu_hour_cost;
  }
  if (options.egress_cost) {
    const double rate = result.required->bytes_per_second * result.predicted_au_ratio.value_or(1);
    result.egress_cost_per_hour = rate * 3600 / 1e9 * *options.egress_cost;
  }
}

}  // namespace

std::vector<PresetRow> preset_rows(const Supply& supply) {
  std::vector<PresetRow> rows;
  for (const Preset& preset : presets()) {
    const TrainingJob job = preset_job(preset, 1);
    PresetRow row{
        std::string(preset.name), preset.sample_bytes,   preset.batch, preset.step_seconds,        preset.min_au,
        samples_per_second(job),  bytes_per_second(job), {},           std::string(preset.edition)};
    if (const auto rates = stage_rates(supply, preset.sample_bytes, preset.jpeg); !rates.empty()) {
      row.gpus_fed = judge(job, preset.min_au, rates).gpus_fed;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

ModelResult model(const ModelOptions& options, Context& context) {
  check_values(options);
  check_partners(options);
  const Supply supply = given_supply(options, context);
  const auto requirement = job_requirement(job_options(options));
  ModelResult result;
  if (!requirement) {
    const bool known =
        supply.read_bytes_per_second || supply.read_samples_per_second || supply.decode_samples_per_second;
    if (!options.list_presets && !known) {
      throw Error(ErrorCode::usage,
                  "nothing to model: give --preset, or --batch, --step-time and --sample-bytes, or a supply "
                  "(--from, --read-rate, --decode-rate); --list-presets shows the presets");
    }
    if (known) result.supply = supply;
    result.presets = preset_rows(supply);
    return result;
  }
  if (requirement->preset != nullptr) {
    result.preset = requirement->preset->name;
    result.edition = requirement->preset->edition;
  }
  result.required = requirements(options, *requirement, supply);
  judge_supply(*requirement, supply, result);
  add_costs(options, *requirement, result);
  if (options.list_presets) result.presets = preset_rows(supply);
  return result;
}

}  // namespace shardkit
