#include "bench/read/store_report.hpp"

#include <utility>

#include <fmt/format.h>

#include "bench/requirement/requirement.hpp"
#include "core/error.hpp"

namespace shardkit::bench {
namespace {

/// "500 MB/s, 0.50 times the 1.00 GB/s required"
std::string comparison(double supply, const StreamingVerdict& verdict) {
  return fmt::format("{}, {} times the {} required", format_rate(supply), format_factor(verdict.headroom_ratio),
                     format_rate(verdict.required_bytes_per_second));
}

std::string text_of(double supply, const StreamingVerdict& verdict) {
  if (verdict.verdict == StreamOrStage::stream) {
    return fmt::format("stream: the store gives {}; staging would win no time", comparison(supply, verdict));
  }
  if (!verdict.break_even_epochs) {
    return fmt::format(
        "stage: the store gives {}, which leaves too little reserve ({} times are asked for); staging "
        "takes {} once",
        comparison(supply, verdict), kStreamingReserve, format_duration(verdict.staging_seconds));
  }
  return fmt::format(
      "stage: the store gives {}; streaming adds {} to each epoch, staging takes {} once and has paid "
      "after {:.1f} epochs, where the local disk gives what is required",
      comparison(supply, verdict), format_duration(verdict.epoch_stall_seconds),
      format_duration(verdict.staging_seconds), *verdict.break_even_epochs);
}

}  // namespace

StreamingVerdict judge_streaming(double supply, double required, std::uint64_t set_bytes) {
  const auto bytes = static_cast<double>(set_bytes);
  StreamingVerdict verdict;
  verdict.required_bytes_per_second = required;
  verdict.headroom_ratio = supply / required;
  verdict.staging_seconds = bytes / supply;
  verdict.epoch_seconds = bytes / required;
  verdict.verdict = supply >= kStreamingReserve * required ? StreamOrStage::stream : StreamOrStage::stage;
  if (supply < required) {
    verdict.epoch_stall_seconds = verdict.staging_seconds - verdict.epoch_seconds;
    verdict.break_even_epochs = verdict.staging_seconds / verdict.epoch_stall_seconds;
  }
  verdict.text = text_of(supply, verdict);
  return verdict;
}

void StreamingVerdict::describe(FieldVisitor& v) {
  v.field({"text", "the verdict in one line"}, text);
  v.field({"verdict", "stream from the store, or stage to a local disk first"}, verdict);
  v.field({"required_bytes_per_second", Unit::bytes_per_second, "what the job reads"}, required_bytes_per_second);
  v.field({"headroom_ratio", Unit::factor, "what the store gives over what is required; stream from 1.2 on"},
          headroom_ratio);
  v.field({"staging_seconds", Unit::seconds, "time to bring the whole set here once, at the measured rate"},
          staging_seconds);
  v.field({"epoch_seconds", Unit::seconds, "time of an epoch at the required rate"}, epoch_seconds);
  v.field({"epoch_stall_seconds", Unit::seconds, "time that streaming adds to each epoch"}, epoch_stall_seconds);
  v.field({"break_even_epochs", "epochs after which staging has cost less time; none: never"}, break_even_epochs);
}

std::string StoreReadOptions::given() const {
  const std::array<std::pair<bool, std::string_view>, 10> options{{
      {!access.profile.empty(), "--profile"},
      {!access.endpoint_url.empty(), "--endpoint-url"},
      {!access.region.empty(), "--region"},
      {access.anonymous, "--anonymous"},
      {required_rate.has_value(), "--required-rate"},
      {preset.has_value(), "--preset"},
      {gpus.has_value(), "--gpus"},
      {batch.has_value(), "--batch"},
      {step_time.has_value(), "--step-time"},
      {min_au.has_value(), "--min-au"},
  }};
  for (const auto& [is_given, name] : options) {
    if (is_given) return std::string(name);
  }
  return {};
}

std::optional<double> StoreReadOptions::required() const {
  std::optional<double> bytes;
  if (sample_bytes) bytes = static_cast<double>(*sample_bytes);
  const auto requirement = job_requirement({preset, gpus, batch, step_time, bytes, min_au});
  if (requirement && required_rate) {
    throw Error(ErrorCode::usage, "--required-rate and a job (--preset, --batch, --step-time) are two requirements");
  }
  if (!requirement && sample_bytes) {
    throw Error(ErrorCode::usage, "--sample-bytes says nothing alone: add --batch and --step-time");
  }
  if (!requirement) return required_rate;
  return bytes_per_second(requirement->job) * requirement->min_au;
}

void StoreReadOptions::describe(FieldVisitor& v) {
  v.field({"required-rate", Unit::bytes_per_second, "of a store: what the job reads, for the verdict stream or stage",
           kMayDiffer, above(0)},
          required_rate);
  v.field({"preset", "of a store: the job that reads, such as resnet50-h100", "NAME", kMayDiffer}, preset);
  v.field({"gpus", Unit::count, "GPUs of that job; 1", kMayDiffer, at_least(1)}, gpus);
  v.field({"batch", Unit::count, "its samples per GPU and step", at_least(1)}, batch);
  v.field({"step-time", Unit::seconds, "time its GPUs compute on one batch", above(0)}, step_time);
  v.field({"sample-bytes", Unit::bytes,
           "of a store: mean size of the job's stored samples; of local files: each is a row of samples of this size",
           between(1, 1ULL << 40U)},
          sample_bytes);
  v.field({"min-au", Unit::ratio, "share of the GPUs' time that must be used; the preset's, else 1", kMayDiffer,
           above(0, 1)},
          min_au);
  access.describe(v);
}

void StoreLevel::describe(FieldVisitor& v) {
  v.field({"connections", Unit::count, "requests under way"}, connections);
  v.field({"bytes_per_second", Unit::bytes_per_second, "of all connections"}, bytes_per_second);
  v.field({"bytes_per_second_per_connection", Unit::bytes_per_second, "of each"}, bytes_per_second_per_connection);
  v.field({"ttfb_p50", Unit::seconds, "half of the first bytes came after no more than this"}, ttfb_p50);
  v.field({"ttfb_p99", Unit::seconds, "99 of 100 first bytes did"}, ttfb_p99);
  v.field({"requests", Unit::count, "requests that were begun and ended"}, requests);
  v.field({"retries", Unit::count, "requests that were repeated"}, retries);
  v.field({"throttled", Unit::count, "those of them that the store asked to send later (503, 429)"}, throttled);
  v.field({"steady",
           "false when the rate drifted by more than a tenth, or no request was begun and ended; null: less than 1 s, "
           "too short to tell"},
          steady);
}

void StoreReport::describe(FieldVisitor& v) {
  v.field({"streaming", "stream or stage; none without a requirement"}, streaming);
  v.field({"location", "what was read"}, location);
  v.field({"set_bytes", Unit::bytes, "bytes of all objects named"}, set_bytes);
  v.field({"objects_without_ranges", Unit::count, "objects met that the server gives whole only"},
          objects_without_ranges);
  v.field({"objects_changed", Unit::count, "objects that changed or went meanwhile"}, objects_changed);
  v.field({"knee_connections", Unit::count, "the fewest connections that gave 95 % of the best rate"},
          knee_connections);
  v.field({"best_bytes_per_second", Unit::bytes_per_second, "the best rate of any number of connections"},
          best_bytes_per_second);
  v.field({"bytes_per_second_per_connection", Unit::bytes_per_second, "rate of one connection at the knee"},
          bytes_per_second_per_connection);
  v.field({"ttfb", Unit::seconds, "time to the first byte at the knee, connections being open"}, ttfb);
  v.field({"cpu_seconds_per_gb", "processor seconds of this client for each 10^9 bytes"}, cpu_seconds_per_gb);
  v.field({"retries", Unit::count, "requests that were repeated, in all"}, retries);
  v.field({"throttled", Unit::count, "those of them that the store asked to send later"}, throttled);
  v.field({"levels", "the curve"}, levels);
}

}  // namespace shardkit::bench
