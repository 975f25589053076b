#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/store/store_level.hpp"
#include "bench/store/store_verdict.hpp"
#include "catalog/store_access.hpp"
#include "core/fields.hpp"

namespace shardkit {

/// Options of `iobench read` for what lies behind a URL alone: the way there, and the job that would read from it.
struct StoreReadOptions {
  StoreAccess access;
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
  std::optional<LatencyQuantiles> ttfb;
  double cpu_seconds_per_gb = 0;
  std::uint64_t retries = 0;
  std::uint64_t throttled = 0;
  std::vector<StoreLevel> levels;

  void describe(FieldVisitor& v);
};

}  // namespace shardkit
