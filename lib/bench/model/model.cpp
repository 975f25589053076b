#include "bench/model/model.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/machine/cache_state.hpp"
#include "bench/model/measured_supply.hpp"
#include "bench/model/model_words.hpp"
#include "bench/requirement/requirement.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/units.hpp"

namespace shardkit::bench {
namespace {

/// Throws Error{usage}: "<option> needs <needed>".
[[noreturn]] void refuse_alone(const char* option, std::string_view needed) {
  throw usage_error("{} needs {}", option, needed);
}

CheckpointCost checkpoint_cost(const ModelOptions& options, const TrainingJob& job) {
  CheckpointCost cost;
  const auto every = static_cast<double>(*options.checkpoint_every);
  cost.write_seconds = static_cast<double>(*options.checkpoint_bytes) / *options.checkpoint_rate;
  cost.synchronous_share_ratio = checkpoint_share(cost.write_seconds, every, job.step_seconds);
  if (options.checkpoint_copy_time) {
    cost.asynchronous_share_ratio = checkpoint_share(*options.checkpoint_copy_time, every, job.step_seconds);
  }
  cost.blocked_seconds = options.checkpoint_copy_time.value_or(cost.write_seconds);
  cost.interval_seconds = every * job.step_seconds;
  cost.fits_interval = checkpoint_fits(cost.write_seconds, every, job.step_seconds);
  return cost;
}

/// Whether samples are known to become crops: tokens and tensors are moved as they are stored.
bool becomes_crops(const ModelOptions& options, const JobRequirement& requirement, const Supply& supply) {
  if (requirement.kind || requirement.preset != nullptr) return requirement.is_of_images();
  return options.crop || supply.decode_samples_per_second || supply.decode_samples_per_second_per_core ||
         supply.pipeline_samples_per_second;
}

Required requirements(const ModelOptions& options, const JobRequirement& requirement, const Supply& supply) {
  const TrainingJob& job = requirement.job;
  const bool image = requirement.is_of_images();
  const auto crop = static_cast<double>(tensor_bytes(options.crop.value_or(224), image::value_bytes(options.dtype)));
  const double decoded = becomes_crops(options, requirement, supply) ? crop : job.sample_bytes;
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
    required.epoch_seconds = bytes / static_cast<double>(options.nodes.value_or(1)) / required.bytes_per_second;
  }
  if (options.checkpoint_bytes) required.checkpoint = checkpoint_cost(options, job);
  return required;
}

/// A rate measured from memory says nothing about storage.
void warn_of_cache(const Supply& supply, const std::string& path, Context& context) {
  const std::string state = supply.cache_state.value_or("");
  const bool is_unknown = state == enum_name(CacheState::unknown);
  if (state != enum_name(CacheState::warm) && state != enum_name(CacheState::mixed) && !is_unknown) return;
  const std::string_view what =
      is_unknown ? "whether the data was in the page cache is unknown" : "the rate is at least partly that of memory";
  context.warn(
      "supply_not_cold",
      fmt::format("reading in '{}' was measured with cache state {}: {}; use --cache cold to measure the storage", path,
                  state, what));
}

/// A pipeline that waited for its own steps shows the rate of those, not the rate of the node.
void check_pace(const ModelOptions& options, const std::optional<JobRequirement>& requirement, const Supply& supply,
                Context& context) {
  if (!supply.pipeline_stage || !supply.pipeline_samples_per_second) return;
  if (supply.pipeline_stage != stage::kCompute && supply.pipeline_stage != stage::kCheckpoint) return;  // of version 1
  const std::string rate = sample_rate_text(*supply.pipeline_samples_per_second);
  constexpr const char* kInstead = "measure the pipeline without --step-time";
  if (requirement && requirement->is_of_images() &&
      *supply.pipeline_samples_per_second < samples_per_second(requirement->job) * requirement->min_au) {
    throw Error(
        ErrorCode::usage, At{*options.from},
        "--from: '{}' was limited to {} by its own training steps, so the maximum rate of the node is unknown; {}",
        *options.from, rate, kInstead);
  }
  context.warn("supply_is_a_bound", fmt::format("'{}' was limited by its own training steps: the node delivers {} or "
                                                "more; to find out how many GPUs it feeds, {}",
                                                *options.from, rate, kInstead));
}

Supply given_supply(const ModelOptions& options, Supply supply, Context& context) {
  if (options.read_rate) {
    supply.read_bytes_per_second = options.read_rate;
    supply.read_samples_per_second.reset();
    supply.measured_sample_bytes.reset();
    supply.cache_state.reset();
  }
  if (options.from) warn_of_cache(supply, *options.from, context);
  if (options.decode_rate) {
    supply.decode_samples_per_second = options.decode_rate;
    supply.decoded_sample_bytes.reset();
  }
  return supply;
}

/// The rate of the known stages for samples of `sample_bytes`. Bytes per second are preferred to samples per second,
/// because the job's samples may have another size than the measured ones.
std::vector<StageRate> stage_rates(const Supply& supply, double sample_bytes, bool image) {
  const auto decoding = [&](double rate) {
    return decode_rate_of(rate, supply.decoded_sample_bytes.value_or(0), sample_bytes);
  };
  std::vector<StageRate> rates;
  if (supply.read_bytes_per_second && sample_bytes > 0) {
    rates.push_back({stage::kRead, *supply.read_bytes_per_second / sample_bytes});
  } else if (supply.read_samples_per_second) {
    rates.push_back({stage::kRead, *supply.read_samples_per_second});
  }
  if (image && supply.decode_samples_per_second)
    rates.push_back({stage::kDecode, decoding(*supply.decode_samples_per_second)});
  if (image && supply.pipeline_samples_per_second) {
    rates.push_back({supply.pipeline_stage ? std::string_view(*supply.pipeline_stage) : "pipeline",
                     decoding(*supply.pipeline_samples_per_second)});
  }
  return rates;
}

/// Stages that a job of images, or any other, needs and that were not measured.
std::vector<std::string> stages_not_measured(const Supply& supply, bool image) {
  std::vector<std::string> stages;
  const bool all_at_once = image && supply.pipeline_samples_per_second;
  if (!all_at_once && !supply.read_bytes_per_second && !supply.read_samples_per_second) {
    stages.emplace_back(stage::kRead);
  }
  if (image && !all_at_once && !supply.decode_samples_per_second) stages.emplace_back(stage::kDecode);
  return stages;
}

void warn_not_measured(const ModelResult& result, Context& context) {
  if (result.required && !result.requirement && !result.not_measured.empty()) {
    context.warn("not_measured",
                 "samples of this job are not decoded, but the given supply is only a decoding rate, so it is not "
                 "used; `iobench read DATA --json FILE` measures reading for --from");
    return;
  }
  for (const std::string& name : result.not_measured) {
    context.warn("not_measured",
                 fmt::format("{} was not measured and may be the bottleneck: `iobench run DATA --json FILE` measures "
                             "every stage for --from, `iobench {} DATA` measures this one for --{}-rate",
                             stage_activity(name), name, name));
  }
}

void judge_supply(const JobRequirement& requirement, const Supply& supply, ModelResult& result) {
  const auto rates = stage_rates(supply, requirement.job.sample_bytes, requirement.is_of_images());
  if (rates.empty()) return;
  const Rating rating = rating_of(requirement.job, requirement.min_au, rates);
  result.supply = supply;
  const bool undecided = rating.ok && !result.not_measured.empty();
  if (!undecided) result.limiting_stage = rating.limiting_stage;
  result.headroom_ratio = rating.headroom_ratio;
  if (auto& epoch = result.required->epoch_seconds) *epoch /= std::min(rating.headroom_ratio, 1.0);
  result.predicted_au_ratio = rating.overlapped_au;
  result.predicted_au_serial_ratio = rating.serial_au;
  result.gpus_fed = rating.gpus_fed;
  result.requirement = undecided   ? RequirementState::undecided
                       : rating.ok ? RequirementState::met
                                   : RequirementState::missed;
}

/// A checkpoint that is not written before the next one starts delays training, whatever the input delivers.
void judge_checkpoint(ModelResult& result) {
  if (!result.required || !result.required->checkpoint || result.required->checkpoint->fits_interval) return;
  result.requirement = RequirementState::missed;
  result.limiting_stage = stage::kCheckpoint;
}

void add_costs(const ModelOptions& options, const JobRequirement& requirement, ModelResult& result) {
  const auto& checkpoint = result.required->checkpoint;
  if (options.gpu_hour_cost && !result.predicted_au_ratio && !checkpoint) {
    refuse_alone("--gpu-hour-cost",
                 "a supply (--from, --read-rate, --decode-rate) or checkpoints, to find out how long GPUs idle");
  }
  const auto nodes = static_cast<double>(options.nodes.value_or(1));
  const double au = result.predicted_au_ratio.value_or(1);
  if (options.gpu_hour_cost) {
    const double per_hour = static_cast<double>(requirement.job.gpus) * nodes * *options.gpu_hour_cost;
    double busy = au;
    if (checkpoint) busy *= 1 - checkpoint->share_ratio();
    if (checkpoint) result.checkpoint_cost = checkpoint->blocked_seconds / 3600 * per_hour;
    result.idle_cost_per_hour = (1 - busy) * per_hour;
  }
}

ModelResult modeled(const ModelOptions& options, const std::optional<JobRequirement>& requirement,
                    const Supply& supply) {
  ModelResult result;
  if (!requirement) {
    if (!options.list_presets && !supply.is_known()) {
      throw usage_error(
          "nothing to model: give --preset, or --batch, --step-time and --sample-bytes, or a supply (--from, "
          "--read-rate, --decode-rate). --list-presets shows the presets");
    }
    if (supply.is_known()) {
      result.supply = supply;
      result.not_measured = stages_not_measured(supply, true);
    }
    result.presets = preset_rows(supply);
    return result;
  }
  if (requirement->preset != nullptr) {
    result.preset = requirement->preset->name;
    result.edition = requirement->preset->edition;
  }
  result.required = requirements(options, *requirement, supply);
  if (supply.is_known()) result.not_measured = stages_not_measured(supply, requirement->is_of_images());
  judge_supply(*requirement, supply, result);
  add_costs(options, *requirement, result);
  if (options.list_presets) result.presets = preset_rows(supply);
  return result;
}

constexpr const char* kJob = "a job (--preset, or --batch, --step-time and --sample-bytes)";

bool has_job(const ModelOptions& options) { return options.preset || options.batch || options.step_time; }

/// Refuses an option that has no effect without another one, so that no option is silently ignored.
void check_partners(const ModelOptions& options) {
  const auto check = [](bool given, bool partner, const char* option, const char* partners) {
    if (given && !partner) refuse_alone(option, partners);
  };
  const bool job = has_job(options);
  check(options.sample_bytes.has_value(), job, "--sample-bytes", kJob);
  check(options.dataset_bytes.has_value(), job, "--dataset-bytes", kJob);
  check(options.checkpoint_bytes.has_value(), job, "--checkpoint-bytes", kJob);
  check(options.gpu_hour_cost.has_value(), job, "--gpu-hour-cost", kJob);
  check(options.nodes.has_value(), job, "--nodes", kJob);
  const bool checkpoint = options.checkpoint_bytes.has_value();
  check(checkpoint, options.checkpoint_rate && options.checkpoint_every, "--checkpoint-bytes",
        "--checkpoint-rate and --checkpoint-every");
  check(options.checkpoint_rate.has_value(), checkpoint, "--checkpoint-rate", "--checkpoint-bytes");
  check(options.checkpoint_every.has_value(), checkpoint, "--checkpoint-every", "--checkpoint-bytes");
  check(options.checkpoint_copy_time.has_value(), checkpoint, "--checkpoint-copy-time", "--checkpoint-bytes");
}

/// `options` completed with the values of a measured checkpoint. Larger checkpoints take proportionally longer. A
/// checkpoint that --budget ended early is extrapolated, with a warning. Throws Error{usage} without a job and an
/// interval.
ModelOptions with_checkpoint(ModelOptions options, const MeasuredCheckpoint& measured, Context& context) {
  const bool has_sample = options.preset || options.sample_bytes;
  if (!options.checkpoint_every || !has_job(options) || !has_sample) {
    refuse_alone("--from", fmt::format("--checkpoint-every and {} with a checkpoint result", kJob));
  }
  if (measured.written_bytes < measured.bytes && !options.checkpoint_rate) {
    context.warn("part_of_checkpoint", fmt::format("'{}': --budget ended the checkpoint after {} of {}; the rest is "
                                                   "assumed to have the same rate. Measure without --budget",
                                                   *options.from, format_rounded_size(measured.written_bytes),
                                                   format_rounded_size(measured.bytes)));
  }
  options.checkpoint_bytes = options.checkpoint_bytes.value_or(static_cast<std::uint64_t>(measured.bytes));
  options.checkpoint_rate = options.checkpoint_rate.value_or(measured.bytes_per_second);
  if (!options.checkpoint_copy_time && measured.copy_seconds) {
    options.checkpoint_copy_time =
        *measured.copy_seconds * static_cast<double>(*options.checkpoint_bytes) / measured.bytes;
  }
  return options;
}

/// The GPUs of one of --nodes.
std::uint64_t gpus_of_node(const ModelOptions& options) {
  const std::uint64_t gpus = options.gpus.value_or(0);
  if (gpus > 0 && gpus % *options.nodes == 0) return gpus / *options.nodes;
  throw usage_error("--nodes {}: --gpus is the number of GPUs of all nodes together, a multiple of it", *options.nodes);
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
      row.gpus_fed = rating_of(job, preset.min_au, rates).gpus_fed;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

ModelResult model(const ModelOptions& given, Context& context) {
  check_ranges(given);
  MeasuredSupply measured;
  if (given.from) measured = read_measured(*given.from);
  ModelOptions options = measured.checkpoint ? with_checkpoint(given, *measured.checkpoint, context) : given;
  if (options.nodes) options.gpus = gpus_of_node(options);
  const auto& stored = measured.supply.measured_sample_bytes;
  const auto sample = stored ? stored : measured.supply.decoded_sample_bytes;
  if (sample && !options.preset && !options.sample_bytes && options.batch && options.step_time) {
    options.sample_bytes = static_cast<std::uint64_t>(*sample);
  }
  check_partners(options);
  const Supply supply = given_supply(options, measured.supply, context);
  const auto requirement = job_requirement(options);
  warn_of_step_time(options, context);
  check_pace(options, requirement, supply, context);
  ModelResult result = modeled(options, requirement, supply);
  warn_not_measured(result, context);
  result.nodes = options.nodes;
  result.text = model_text(result, requirement);  // of the input, and of a checkpoint that is too slow
  judge_checkpoint(result);
  return result;
}

void ModelOptions::describe(FieldList& v) {
  v.topic("Training job");
  v.field({"list-presets", "list the presets and the input rate that each needs"}, list_presets);
  JobOptions::describe(v);
  v.field({"sample-bytes", Unit::bytes, "mean size of a stored sample; default: that of --from", at_least(1),
           Misnomers{"sample-size"}},
          sample_bytes);
  v.topic("Loader");
  v.field({"nodes", Unit::count, "divide the --gpus of the job among N nodes; values are for one of them", at_least(1)},
          nodes);
  v.field({"workers", Unit::count, "loader processes per GPU", at_least(1)}, workers);
  v.field({"prefetch", Unit::count, "batches that each worker prefetches", at_least(1)}, prefetch);
  v.field({"crop", Unit::count, "width and height of the decoded crop in pixels; default for images: 224",
           between(1, 65535)},
          crop);
  v.field({"dtype", "data type of the decoded values"}, dtype);
  v.field({"dataset-bytes", Unit::bytes, "size of the data set, to compute the time of an epoch"}, dataset_bytes);
  v.topic("Supply");
  v.field({"from",
           "take the supply from a result of read, decode, pipeline or run (--json), or the checkpoint time from a "
           "result of checkpoint",
           Role::input_file},
          from);
  v.field({"read-rate", Unit::bytes_per_second, "bytes that storage delivers per second", above(0)}, read_rate);
  v.field({"decode-rate", Unit::per_second, "samples per second that the node decodes", above(0)}, decode_rate);
  v.topic("Checkpoints");
  v.field({"checkpoint-bytes", Unit::bytes, "size of a checkpoint"}, checkpoint_bytes);
  v.field({"checkpoint-rate", Unit::bytes_per_second, "rate of writing a checkpoint", above(0)}, checkpoint_rate);
  v.field({"checkpoint-every", Unit::count, "training steps between two checkpoints", at_least(1)}, checkpoint_every);
  v.field({"checkpoint-copy-time", Unit::seconds, "time that an asynchronous checkpoint blocks training"},
          checkpoint_copy_time);
  v.topic("Costs");
  v.field({"gpu-hour-cost", "price of a GPU hour, to compute the cost of idle GPUs", "PRICE", at_least(0)},
          gpu_hour_cost);
}

void CheckpointCost::describe(FieldList& v) {
  v.field({"write_seconds", Unit::seconds, "time to write one checkpoint"}, write_seconds);
  v.field({"interval_seconds", Unit::seconds, "computing time between two checkpoints"}, interval_seconds);
  v.field({"synchronous_share_ratio", Unit::ratio, "share of the running time if training waits for checkpoints"},
          synchronous_share_ratio);
  v.field({"asynchronous_share_ratio", Unit::ratio,
           "share of the running time if only the copy blocks training; absent if its time is unknown"},
          asynchronous_share_ratio);
  v.field({"blocked_seconds", Unit::seconds, "time that training waits for one checkpoint"}, blocked_seconds);
  v.field({"fits_interval", "whether one is written in that time; if not, the requirement is missed"}, fits_interval);
}

void Required::describe(FieldList& v) {
  v.field({"samples_per_second", Unit::per_second, "samples that all GPUs need"}, samples_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "N * B * S / t"}, bytes_per_second);
  v.field({"files_per_second", Unit::per_second, "files to open and read if each sample is a file"}, files_per_second);
  v.field({"decode_cores", "cores that decoding needs"}, decode_cores);
  v.field({"h2d_bytes_per_second", Unit::bytes_per_second,
           "bytes from host to GPUs: decoded crops, or as stored unless a preset, --crop or a decoding rate shows that "
           "samples are images"},
          h2d_bytes_per_second);
  v.field({"prefetch_memory", Unit::bytes, "memory of the batches that the workers of all GPUs prefetch"},
          prefetch_memory);
  v.field({"dev_shm", Unit::bytes, "minimum size of /dev/shm for that"}, dev_shm);
  v.field({"epoch_seconds", Unit::seconds, "time of one pass over the data set, at the supplied rate if that is lower"},
          epoch_seconds);
  v.field({"checkpoint", "cost of checkpoints"}, checkpoint);
}

void PresetRow::describe(FieldList& v) {
  v.field({"name", "<workload>-<accelerator>[-amp]", kLabel}, name);
  v.field({"sample_bytes", Unit::bytes, "mean size of a stored sample"}, sample_bytes);
  v.field({"batch", Unit::count, "samples per GPU and training step"}, batch);
  v.field({"step_seconds", Unit::seconds, "time that a GPU computes one batch"}, step_seconds);
  v.field({"min_au_ratio", Unit::ratio, "required GPU utilization"}, min_au_ratio);
  v.field({"samples_per_second", Unit::per_second, "samples that one GPU needs"}, samples_per_second);
  v.field({"bytes_per_second", Unit::bytes_per_second, "bytes that one GPU needs"}, bytes_per_second);
  v.field({"gpus_fed", Unit::count, "GPUs that the supply can feed"}, gpus_fed);
  v.field({"edition", "where the workload was published"}, edition);
}

void ModelResult::describe(FieldList& v) {
  v.field({"text", "the conclusion in one line"}, text);
  v.field({"preset", "preset that the job came from"}, preset);
  v.field({"edition", "source of that preset"}, edition);
  v.field({"required", "what the job needs"}, required);
  v.field({"supply", "what the node delivers"}, supply);
  v.field({"limiting_stage", "the bottleneck; compute if the input is fast enough; absent while undecided"},
          limiting_stage);
  v.field({"headroom_ratio", Unit::factor, "supply divided by demand; below 1 the input is too slow"}, headroom_ratio);
  v.field({"predicted_au_ratio", Unit::ratio,
           "GPU utilization if loading overlaps compute fully; an upper limit if a stage was not measured"},
          predicted_au_ratio);
  v.field({"predicted_au_serial_ratio", Unit::ratio, "GPU utilization if each training step waits for its batch"},
          predicted_au_serial_ratio);
  v.field({"gpus_fed", Unit::count, "GPUs that the supply can feed"}, gpus_fed);
  v.field({"requirement",
           "met or missed by the given supply, missed by a checkpoint that does not fit its interval; undecided if "
           "stages were not measured"},
          requirement);
  v.field({"not_measured", "stages of the job that the supply does not cover"}, not_measured);
  v.field({"nodes", Unit::count, "nodes of the job; the requirement is for one of them"}, nodes);
  v.field({"idle_cost_per_hour", "cost of GPU time of all nodes without work: waiting for input and for checkpoints"},
          idle_cost_per_hour);
  v.field({"checkpoint_cost", "cost of the GPU time that waits for one checkpoint"}, checkpoint_cost);
  v.field({"presets", "published workloads"}, presets);
}

}  // namespace shardkit::bench
