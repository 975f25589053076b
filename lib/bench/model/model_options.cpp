#include "bench/model/model_options.hpp"

#include <fmt/format.h>

#include "bench/model/verdict.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

namespace shardkit {
namespace {

constexpr const char* kJob = "a job (--preset, or --batch, --step-time and --sample-bytes)";

void check_positive(const std::optional<double>& value, const char* option) {
  if (value && *value <= 0) refuse_option(option, "more than 0");
}

void check_not_negative(const std::optional<double>& value, const char* option) {
  if (value && *value < 0) refuse_option(option, "0 or more");
}

}  // namespace

void refuse_option(const char* option, std::string_view expected) {
  throw Error(ErrorCode::usage, fmt::format("{}: expected {}", option, expected));
}

void check_values(const ModelOptions& options) {
  if (options.workers == 0) refuse_option("--workers", "at least one worker");
  if (options.prefetch == 0) refuse_option("--prefetch", "at least one batch");
  if (options.crop == 0 || options.crop > 65535) refuse_option("--crop", "1 to 65535 pixels");
  if (options.checkpoint_every == 0U) refuse_option("--checkpoint-every", "at least one step");
  check_positive(options.decode_per_core, "--decode-per-core");
  check_positive(options.read_rate, "--read-rate");
  check_positive(options.decode_rate, "--decode-rate");
  check_positive(options.stage_rate, "--stage-rate");
  check_positive(options.checkpoint_rate, "--checkpoint-rate");
  check_not_negative(options.checkpoint_copy_time, "--checkpoint-copy-time");
  check_not_negative(options.gpu_hour_cost, "--gpu-hour-cost");
  check_not_negative(options.egress_cost, "--egress-cost");
}

bool has_job(const ModelOptions& options) { return options.preset || options.batch || options.step_time; }

void check_partners(const ModelOptions& options) {
  const auto check = [](bool given, bool partner, const char* option, const char* partners) {
    if (given && !partner) refuse_option(option, fmt::format("{} beside it", partners));
  };
  const bool job = has_job(options);
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
  check(options.checkpoint_copy_time.has_value(), checkpoint, "--checkpoint-copy-time", "--checkpoint-bytes");
}

ModelOptions with_checkpoint(ModelOptions options, const MeasuredCheckpoint& measured, Context& context) {
  const bool has_sample = options.preset || options.sample_bytes;
  if (!options.checkpoint_every || !has_job(options) || !has_sample) {
    refuse_option("--from", fmt::format("--checkpoint-every and {} beside a checkpoint's result", kJob));
  }
  if (measured.written_bytes < measured.bytes && !options.checkpoint_rate) {
    context.warn(
        "part_of_checkpoint",
        fmt::format("'{}': --budget ended the checkpoint after {} of {}; the whole is taken to go on at that "
                    "rate; measure without --budget",
                    *options.from, format_rounded_size(measured.written_bytes), format_rounded_size(measured.bytes)));
  }
  options.checkpoint_bytes = options.checkpoint_bytes.value_or(static_cast<std::uint64_t>(measured.bytes));
  options.checkpoint_rate = options.checkpoint_rate.value_or(measured.bytes_per_second);
  if (!options.checkpoint_copy_time && measured.copy_seconds) {
    options.checkpoint_copy_time =
        *measured.copy_seconds * static_cast<double>(*options.checkpoint_bytes) / measured.bytes;
  }
  return options;
}

}  // namespace shardkit
