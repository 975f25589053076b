#include "bench/store/store_verdict.hpp"

#include <fmt/format.h>

namespace shardkit {
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
  v.field({"text", Unit::none, "the verdict in one line"}, text);
  v.field({"verdict", Unit::none, "stream from the store, or stage to a local disk first"}, verdict);
  v.field({"required_bytes_per_second", Unit::bytes_per_second, "what the job reads"}, required_bytes_per_second);
  v.field({"headroom_ratio", Unit::ratio, "what the store gives over what is required; stream from 1.2 on"},
          headroom_ratio);
  v.field({"staging_seconds", Unit::seconds, "time to bring the whole set here once, at the measured rate"},
          staging_seconds);
  v.field({"epoch_seconds", Unit::seconds, "time of an epoch at the required rate"}, epoch_seconds);
  v.field({"epoch_stall_seconds", Unit::seconds, "time that streaming adds to each epoch"}, epoch_stall_seconds);
  v.field({"break_even_epochs", Unit::none, "epochs after which staging has cost less time; none: never"},
          break_even_epochs);
}

}  // namespace shardkit
