#include "bench/read/store_report.hpp"

#include <fmt/format.h>

#include "core/units.hpp"

namespace shardkit::bench {
namespace {

/// "500 MB/s, 0.50 times the 1.00 GB/s required"
std::string comparison(double supply, const StreamingVerdict& verdict) {
  return fmt::format("{}, {} times the {} required", format_rate(supply), format_factor(verdict.headroom_ratio),
                     format_rate(verdict.required_bytes_per_second));
}

std::string text_of(double supply, const StreamingVerdict& verdict) {
  if (verdict.verdict == StreamOrStage::stream) {
    return fmt::format("stream: the store delivers {}; staging would save no time", comparison(supply, verdict));
  }
  if (!verdict.break_even_epochs) {
    return fmt::format(
        "stage: the store delivers {}, which leaves too little reserve ({} times are needed); staging takes {} once",
        comparison(supply, verdict), kStreamingReserve, format_duration(verdict.staging_seconds));
  }
  return fmt::format(
      "stage: the store delivers {}; streaming adds {} to each epoch, staging takes {} once and pays off after {:.1f} "
      "epochs, if the local disk delivers the required rate",
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

void StreamingVerdict::describe(FieldList& v) {
  v.field({"text", "the verdict in one line"}, text);
  v.field({"verdict", "stream from the store, or stage to a local disk first"}, verdict);
  v.field({"required_bytes_per_second", Unit::bytes_per_second, "rate that the job reads"}, required_bytes_per_second);
  v.field({"headroom_ratio", Unit::factor, "measured divided by required rate; stream at 1.2 or more"}, headroom_ratio);
  v.field({"staging_seconds", Unit::seconds, "time to copy the whole set here once, at the measured rate"},
          staging_seconds);
  v.field({"epoch_seconds", Unit::seconds, "time of an epoch at the required rate"}, epoch_seconds);
  v.field({"epoch_stall_seconds", Unit::seconds, "time that streaming adds to each epoch"}, epoch_stall_seconds);
  v.field({"break_even_epochs", "number of epochs after which staging has taken less time; absent: never"},
          break_even_epochs);
}

void StoreLevel::describe(FieldList& v) {
  v.field({"connections", Unit::count, "requests in flight"}, connections);
  v.field({"bytes_per_second", Unit::bytes_per_second, "rate of all connections"}, bytes_per_second);
  v.field({"bytes_per_second_per_connection", Unit::bytes_per_second, "rate per connection"},
          bytes_per_second_per_connection);
  v.field({"ttfb_p50", Unit::seconds, "half of the first bytes arrived within this time"}, ttfb_p50);
  v.field({"ttfb_p99", Unit::seconds, "99 of 100 first bytes arrived within this time"}, ttfb_p99);
  v.field({"requests", Unit::count, "requests completed"}, requests);
  v.field({"retries", Unit::count, "requests repeated"}, retries);
  v.field({"throttled", Unit::count, "requests repeated because the store was busy (503, 429)"}, throttled);
  v.field({"steady",
           "false if the rate drifted by more than 10 % or no request was completed; null if it took less than 1 s, "
           "too short to find out"},
          steady);
}

void StoreReport::describe(FieldList& v) {
  v.field({"streaming", "stream or stage; absent without a requirement"}, streaming);
  v.field({"location", "bytes read"}, location);
  v.field({"set_bytes", Unit::bytes, "bytes of all objects given"}, set_bytes);
  v.field({"objects_without_ranges", Unit::count, "objects that the server sends only as a whole"},
          objects_without_ranges);
  v.field({"objects_changed", Unit::count, "objects that changed or disappeared during the measurement"},
          objects_changed);
  v.field({"knee_connections", Unit::count, "smallest number of connections that reached 95 % of the best rate"},
          knee_connections);
  v.field({"best_bytes_per_second", Unit::bytes_per_second, "best rate with any number of connections"},
          best_bytes_per_second);
  v.field({"bytes_per_second_per_connection", Unit::bytes_per_second, "rate per connection at the knee"},
          bytes_per_second_per_connection);
  v.field({"ttfb", Unit::seconds, "time to the first byte at the knee, with open connections"}, ttfb);
  v.field({"cpu_seconds_per_gb", "CPU seconds of this client per 10^9 bytes"}, cpu_seconds_per_gb);
  v.field({"retries", Unit::count, "requests repeated, in total"}, retries);
  v.field({"throttled", Unit::count, "requests repeated because the store was busy"}, throttled);
  v.field({"levels", "one row per number of connections"}, levels);
}

}  // namespace shardkit::bench
