#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/read/store_level.hpp"
#include "catalog/inputs.hpp"
#include "core/fields.hpp"

/// What the rates of a store say: whether to stream from it or to stage.
/// Pure; the rules stand in docs/measuring.md. Sizes in bytes, times in seconds, rates in bytes per second.
namespace shardkit::bench {

enum class StreamOrStage { stream, stage };
constexpr auto enum_names(StreamOrStage) { return std::to_array<std::string_view>({"stream", "stage"}); }

/// Whether training can read straight from the store.
struct StreamingVerdict {
  StreamOrStage verdict = StreamOrStage::stream;
  std::string text;  ///< one line
  double required_bytes_per_second = 0;
  double headroom_ratio = 0;                ///< supply over requirement
  double staging_seconds = 0;               ///< to bring the whole set to this node once
  double epoch_seconds = 0;                 ///< of training at the required rate
  double epoch_stall_seconds = 0;           ///< that streaming adds to each epoch
  std::optional<double> break_even_epochs;  ///< after which staging has cost less; empty: never

  void describe(FieldVisitor& v);
};

/// Streaming has to give this many times the requirement: stores slow down when others use them.
inline constexpr double kStreamingReserve = 1.2;

/// Holds what a store supplies against what a job requires, for a set of `set_bytes` that every epoch reads whole. All
/// are more than 0. That the local disk gives the requirement is taken for granted.
StreamingVerdict judge_streaming(double supply, double required, std::uint64_t set_bytes);

/// Options of `iobench read` for what lies behind a URL alone: the way there, and the job that would read from it.
struct StoreReadOptions {
  catalog::StoreAccess access;
  std::optional<double> required_rate;
  std::optional<std::string> preset;
  std::optional<std::uint64_t> gpus;
  std::optional<std::uint64_t> batch;
  std::optional<double> step_time;
  std::optional<std::uint64_t> sample_bytes;
  std::optional<double> min_au;

  void describe(FieldVisitor& v);

  /// The name of one that was given, but for sample_bytes, which local files have too; empty when none was.
  std::string given() const;
  /// Bytes per second that the job needs; empty without a job. Throws Error{usage} for half of one, or two.
  std::optional<double> required() const;
};

/// What `iobench read` has to say of a store beyond the figures of any read.
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

  void describe(FieldVisitor& v);
};

}  // namespace shardkit::bench
