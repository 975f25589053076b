#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "stats/latency_histogram.hpp"

/// What `iobench read` adds to its result for a store.
namespace shardkit::bench {

enum class StreamOrStage { stream, stage };
constexpr auto enum_names(StreamOrStage) { return std::to_array<std::string_view>({"stream", "stage"}); }

/// Whether training can stream from the store.
struct StreamingVerdict {
  StreamOrStage verdict = StreamOrStage::stream;
  std::string text;  ///< one line
  double required_bytes_per_second = 0;
  double headroom_ratio = 0;                ///< measured divided by required rate
  double staging_seconds = 0;               ///< time to copy the whole set to this node once
  double epoch_seconds = 0;                 ///< of training at the required rate
  double epoch_stall_seconds = 0;           ///< time that streaming adds to each epoch
  std::optional<double> break_even_epochs;  ///< after which staging has taken less time; empty: never

  void describe(FieldList& v);
};

/// Streaming needs this many times the required rate, because stores are slower when others use them.
inline constexpr double kStreamingReserve = 1.2;

/// Compares the rate of a store with what a job requires, for a set of `set_bytes` that every epoch reads completely.
/// All are more than 0. The local disk is assumed to deliver the required rate. docs/explain/measuring.md has the
/// rules.
StreamingVerdict judge_streaming(double supply, double required, std::uint64_t set_bytes);

/// One number of connections.
struct StoreLevel {
  std::uint64_t connections = 0;
  double bytes_per_second = 0;
  double bytes_per_second_per_connection = 0;
  std::optional<double> ttfb_p50;
  std::optional<double> ttfb_p99;
  std::uint64_t requests = 0;
  std::uint64_t retries = 0;
  std::uint64_t throttled = 0;
  std::optional<bool> steady;  ///< empty: the run was too short to find out

  void describe(FieldList& v);
};

/// Additional results for a store.
struct StoreReport {
  std::optional<StreamingVerdict> streaming;  ///< empty without a requirement
  std::string location;
  std::uint64_t set_bytes = 0;
  std::uint64_t objects_without_ranges = 0;
  std::uint64_t objects_changed = 0;
  std::uint64_t knee_connections = 0;
  double best_bytes_per_second = 0;
  double bytes_per_second_per_connection = 0;
  std::optional<stats::LatencyQuantiles> ttfb;
  double cpu_seconds_per_gb = 0;
  std::uint64_t retries = 0;
  std::uint64_t throttled = 0;
  std::vector<StoreLevel> levels;

  void describe(FieldList& v);
};

}  // namespace shardkit::bench
